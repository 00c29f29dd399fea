import { useEffect, useRef } from 'preact/hooks'
import type { Tag } from '../../api/types'
import { Icon } from '../../parts/Icon'
import { Menu } from '../../parts/Menu'
import { sorts, type Filter, type Sort } from './filter'

const states: Record<Filter['state'], string> = { '': 'On and off', on: 'On', off: 'Off' }
const types: Record<Filter['type'], string> = { '': 'All kinds', standard: 'Plain', multivariate: 'Multivariate', overridden: 'With overrides' }

/** FilterBar says which features are listed, and in which order. The key / goes to the search. */
export function FilterBar({ filter, change, tags }: { filter: Filter; change: (f: Filter) => void; tags: Tag[] }) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const slash = (e: KeyboardEvent) => {
      if (e.key !== '/' || (e.target as HTMLElement).closest('input, textarea, select, dialog')) return
      e.preventDefault()
      input.current?.focus()
    }
    document.addEventListener('keydown', slash)
    return () => document.removeEventListener('keydown', slash)
  }, [])
  const toggle = (id: number) => change({ ...filter, tags: filter.tags.includes(id) ? filter.tags.filter(t => t !== id) : [...filter.tags, id] })
  return (
    <div class="filters" role="search">
      <div class="search">
        <Icon name="search" size={16} />
        <input
          ref={input}
          class="input"
          type="search"
          placeholder="Search by name, description or value"
          aria-label="Search features"
          aria-keyshortcuts="/"
          value={filter.search}
          onInput={e => change({ ...filter, search: e.currentTarget.value })}
          onKeyDown={e => {
            if (e.key === 'ArrowDown') document.querySelector<HTMLElement>('.feature-name')?.focus()
          }}
        />
      </div>
      <Picker label="State" options={states} value={filter.state} pick={state => change({ ...filter, state })} />
      <Picker label="Kind" options={types} value={filter.type} pick={type => change({ ...filter, type })} />
      {tags.length > 0 && (
        <Menu
          class="picker"
          label="Tags"
          many
          choices={tags.map(t => ({ label: t.label, chosen: filter.tags.includes(t.id), run: () => toggle(t.id) }))}
          button={
            <>
              {filter.tags.length === 0 ? 'Tags' : `${filter.tags.length} ${filter.tags.length === 1 ? 'tag' : 'tags'}`}
              <Icon name="chevron" size={16} />
            </>
          }
        />
      )}
      <Menu
        class="picker"
        label="Archived or not"
        choices={[
          { label: 'In use', chosen: !filter.archived, run: () => change({ ...filter, archived: false }) },
          { label: 'Archived', chosen: filter.archived, run: () => change({ ...filter, archived: true }) },
        ]}
        button={
          <>
            {filter.archived ? 'Archived' : 'In use'}
            <Icon name="chevron" size={16} />
          </>
        }
      />
      <Picker label="Order" options={sorts} value={filter.sort} pick={(sort: Sort) => change({ ...filter, sort })} right />
    </div>
  )
}

function Picker<T extends string>({ label, options, value, pick, right }: { label: string; options: Record<T, string>; value: T; pick: (v: T) => void; right?: boolean }) {
  return (
    <Menu
      class="picker"
      label={label}
      align={right ? 'right' : 'left'}
      choices={(Object.keys(options) as T[]).map(v => ({ label: options[v], chosen: v === value, run: () => pick(v) }))}
      button={
        <>
          {options[value]}
          <Icon name="chevron" size={16} />
        </>
      }
    />
  )
}
