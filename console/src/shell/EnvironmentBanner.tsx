import { useLocation } from 'preact-iso'
import '../styles/sheet.css'
import { useEnvironment } from '../state/place'

/** EnvironmentBanner is the line that people gave an environment for those who work in it. */
export function EnvironmentBanner() {
  const { path } = useLocation()
  const e = useEnvironment()
  if (!e?.banner_text || !path.includes('/environments/')) return null
  return (
    <aside class="environment-banner" aria-label="About this environment" style={{ borderLeftColor: e.banner_colour ?? undefined }}>
      {e.banner_text}
    </aside>
  )
}
