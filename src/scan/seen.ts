/** The ids a scan has read. The scan owns it: it must start empty and nobody else may add to it or clear it. */
export interface SeenIds {
  /** True when the row's id was not there yet. */
  add(row: { readonly id: string; readonly rowId?: number | undefined }): boolean
  clear(): void
  readonly size: number
}

/** Ids held as they are: right for tests and short lists; a bitmap over row numbers is smaller for long ones. */
export function seenIds(): SeenIds {
  const ids = new Set<string>()
  return {
    add({ id }) {
      if (ids.has(id)) return false
      ids.add(id)
      return true
    },
    clear: () => ids.clear(),
    get size() {
      return ids.size
    },
  }
}
