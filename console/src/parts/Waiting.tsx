import { Empty } from './Empty'

/** Waiting stands where a page will be once what it shows is known, and tells why when that fails. */
export const Waiting = ({ error }: { error: string | undefined }) => (
  <div class="page" aria-busy={!error}>
    {error && <Empty icon="alert" title={error} />}
  </div>
)
