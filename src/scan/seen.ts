import { keyOf, type RowKey, type ToldRow } from './window.ts'

/** Who a scan has read. The scan owns it: it must start empty and nobody else may add to it or clear it. */
export interface SeenIds {
  /** True when the row was not there yet; false for one that cannot be told from another. */
  add(row: ToldRow): boolean
  clear(): void
  readonly size: number
}

/** Rows by what tells them apart: right for tests and short lists; a bitmap over row numbers is smaller for long ones. */
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
