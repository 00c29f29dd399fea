import { ago, moment } from './time'

/** Ago is how long ago something was, or how soon it will be; the time itself shows under the pointer. */
export const Ago = ({ time }: { time: string }) => <time title={moment(time)}>{ago(time)}</time>
