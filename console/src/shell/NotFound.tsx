import { Empty } from '../parts/Empty'

export function NotFound() {
  return (
    <Empty icon="search" title="There is no such page">
      <a class="button" href="/">
        Go to your projects
      </a>
    </Empty>
  )
}
