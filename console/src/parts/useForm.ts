import { useState } from 'preact/hooks'
import { APIError, messageOf } from '../api/error'
import { tellAnyway } from '../api/write'
import { useFollowing } from './useFollowing'
import { useHere } from './useHere'

/** Submission is a form's: whether one is under way, and what the server said of the last one. */
export interface Submission {
  busy: boolean
  message: string
  /** What it said of each field; message is empty then. */
  fields: Record<string, string>
  /** Brings back what was typed where somebody else's change took its place; see Overtaken. */
  overtaken?: (() => void) | undefined
  onSubmit: (e: Event) => Promise<void>
}

/**
 * useForm runs a form's submission: it knows whether one is under way and what the server said of each field. done comes after it, unless the form
 * was closed meanwhile; what is refused then is told in a toast.
 */
export function useForm<T>(submit: () => Promise<T>, done?: (made: T) => void): Submission {
  const here = useHere()
  const [busy, setBusy] = useState(false)
  const [message, setMessage] = useState('')
  const [fields, setFields] = useState<Record<string, string>>({})
  const onSubmit = async (e: Event) => {
    e.preventDefault()
    setBusy(true)
    setMessage('')
    setFields({})
    try {
      const made = await submit()
      if (here.current) done?.(made)
    } catch (e) {
      if (!here.current) tellAnyway(e)
      if (e instanceof APIError) setFields(e.fields)
      const told = e instanceof APIError && Object.keys(e.fields).length > 0
      setMessage(told ? '' : messageOf(e))
    } finally {
      setBusy(false)
    }
  }
  return { busy, message, fields, onSubmit }
}

/**
 * useDraft is useForm for a form of texts: it keeps what was typed, follows what is stored (see useFollowing, which takes the name), and field() is
 * what the Field of that name needs.
 */
export function useDraft<T extends Record<string, string>>(first: T, submit: (draft: T) => Promise<unknown>, { name, done }: { name?: string; done?: () => void } = {}) {
  const { draft, setDraft, dirty, sending, overtaken } = useFollowing(first, undefined, name)
  const form = useForm(() => sending(() => submit(draft)), done)
  const field = (of: keyof T & string) => ({ value: draft[of], change: (value: string) => setDraft({ ...draft, [of]: value }), error: form.fields[of] })
  return { draft, setDraft, dirty, form: { ...form, overtaken }, field }
}
