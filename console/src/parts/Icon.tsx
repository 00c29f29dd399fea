// Icons are drawn in a 20 × 20 box with one stroke.
const paths = {
  flag: 'M5 17V3.5M5 4h10l-2.2 3.5L15 11H5',
  segment: 'M10 3a7 7 0 1 0 7 7h-7zM12.5 3.2A7 7 0 0 1 16.8 7.5h-4.3z',
  identity: 'M10 10a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM3.8 17a6.2 6.2 0 0 1 12.4 0',
  members: 'M7.5 10a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM2.5 16.2a5 5 0 0 1 10 0M13 4.8a2.6 2.6 0 0 1 0 5M15 12.6a5 5 0 0 1 2.7 3.6',
  audit: 'M10 6v4.2l2.8 1.8M3.2 10a6.8 6.8 0 1 0 2-4.8L3.4 7M3.2 3.6V7h3.4',
  key: 'M12.6 11.2a4 4 0 1 0-3.8-3.8L3.5 12.7v3.8h3.8v-2.2h2.2v-2.2zM13.4 6.6h.01',
  webhook: 'M7 8.6a3 3 0 1 1 4.6-2.5L14 10.4M13.2 16.2a3 3 0 1 0 .6-5.9M6.8 16.3a3 3 0 1 1-1.2-5.8h4.9',
  chart: 'M3.5 16.5h13M6 13.5v-4M10 13.5v-9M14 13.5v-6',
  cluster: 'M10 3.2l5.9 3.4v6.8L10 16.8l-5.9-3.4V6.6zM10 10v6.6M10 10l5.8-3.3M10 10L4.2 6.7',
  settings: 'M3.5 6h7M14.5 6h2M3.5 14h2M9.5 14h7M12.5 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7.5 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l3.5 3.5',
  chevron: 'M6 8l4 4 4-4',
  updown: 'M6.5 8L10 4.5 13.5 8M6.5 12l3.5 3.5 3.5-3.5',
  close: 'M5 5l10 10M15 5L5 15',
  check: 'M4.5 10.5l3.5 3.5 7.5-8',
  plus: 'M10 4v12M4 10h12',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h13',
  drag: 'M7.5 5.5h.01M12.5 5.5h.01M7.5 10h.01M12.5 10h.01M7.5 14.5h.01M12.5 14.5h.01',
  edit: 'M4 16l.8-3.4L13 4.4l2.6 2.6-8.2 8.2zM11.4 6l2.6 2.6',
  trash: 'M4.5 6h11M8 6V4h4v2M6 6l.7 10.5h6.6L14 6',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  undo: 'M7.5 5L4 8.5 7.5 12M4.5 8.5h7a4 4 0 0 1 0 8H8',
  compare: 'M3.5 4h5v12h-5zM11.5 4h5v12h-5z',
  sun: 'M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM10 2.5v1.6M10 15.9v1.6M2.5 10h1.6M15.9 10h1.6M4.7 4.7l1.1 1.1M14.2 14.2l1.1 1.1M4.7 15.3l1.1-1.1M14.2 5.8l1.1-1.1',
  moon: 'M16 11.8A6.5 6.5 0 0 1 8.2 4a6.5 6.5 0 1 0 7.8 7.8z',
  screen: 'M3 4.5h14v9H3zM7.5 16.5h5',
  leave: 'M8 4H4.5v12H8M12 6.5l3.5 3.5-3.5 3.5M15 10H7.5',
  alert: 'M10 3.2l7.2 12.8H2.8zM10 8.2v3.6M10 13.9h.01',
  lock: 'M5.5 9h9v7.5h-9zM7 9V6.5a3 3 0 0 1 6 0V9',
  book: 'M4 4h5a2 2 0 0 1 1 .3A2 2 0 0 1 11 4h5v11.5h-5a1 1 0 0 0-1 .5 1 1 0 0 0-1-.5H4zM10 4.5V16',
} as const

export type IconName = keyof typeof paths

/** Icon is decoration: what it stands for is told by text beside it, or by a label. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
