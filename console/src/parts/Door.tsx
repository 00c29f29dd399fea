import type { ComponentChildren } from 'preact'
import { nodeName, origin } from '../api/nodes'
import { Logo } from './Logo'

/** Door is the frame of the pages before somebody is signed in. */
export function Door({ title, text, children }: { title: string; text?: string; children: ComponentChildren }) {
  return (
    <main class="door">
      <div class="door-box">
        <Logo size={40} />
        <h1>{title}</h1>
        {text && <p class="door-text">{text}</p>}
        {children}
      </div>
      <p class="door-foot">
        {nodeName(origin.value)} · <a href="/api/v1/docs/">API documentation</a>
      </p>
    </main>
  )
}
