import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './Icon'

/** Empty says that there is nothing, why, and what to do. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}
