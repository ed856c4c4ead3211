import { keyOf, type RowKey, type RowOrNumber } from './window/window.ts'

/** The rows a scan has read. It must start empty, and only the scan may add to it or clear it. */
export interface SeenIds {
  /** True when the row was not there yet; false for a row without an identity. */
  add(row: RowOrNumber): boolean
  clear(): void
  readonly size: number
}

/** Rows by their identity. For tests and short lists; a bitmap over row numbers is smaller for long ones. */
export function seenIds(): SeenIds {
  const keys = new Set<RowKey>()
  return {
    add(row) {
      const key = keyOf(row)
      if (key === undefined || keys.has(key)) return false
      keys.add(key)
      return true
    },
    clear: () => keys.clear(),
    get size() {
      return keys.size
    },
  }
}
