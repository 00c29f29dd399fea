export function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" class="logo-box" />
      <path d="M10 25V7.5M10 8.5h11.5l-3 4.5 3 4.5H10" class="logo-flag" />
    </svg>
  )
}
