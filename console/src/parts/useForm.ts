import { useState } from 'preact/hooks'
import { APIError, messageOf } from '../api/error'

/** useForm runs a form's submission: it knows whether one is under way and what the server said of each field. */
export function useForm(submit: () => Promise<unknown>) {
  const [busy, setBusy] = useState(false)
  const [message, setMessage] = useState('')
  const [fields, setFields] = useState<Record<string, string>>({})
  const onSubmit = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setMessage('')
    setFields({})
    try {
      await submit()
    } catch (e) {
      if (e instanceof APIError) setFields(e.fields)
      const told = e instanceof APIError && Object.keys(e.fields).length > 0
      setMessage(told ? '' : messageOf(e))
    } finally {
      setBusy(false)
    }
  }
  return { busy, message, fields, onSubmit }
}
