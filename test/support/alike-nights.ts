import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { START_MS, DAY_MS } from './builders.ts'
import { listedSource, mirroring, readBy } from './listed-source.ts'

export type Night = {
  /** The list, or a function from the number of answered pages to the list. */
  list: readonly unknown[] | ((answered: number) => readonly unknown[])
  told?: Partial<Mirroring>
  /** Pages after which the run is stopped, or its source fails. */
  stopAfter?: number | undefined
  failAfter?: number | undefined
  /** Steps of a changed policy after which the run is stopped. */
  stopHiding?: number | undefined
}

/** One run; `known` counts the pages that were not parsed, `recognized` the records. */
export async function makeNight(mirror: Mirror, index: number, night: Night) {
  const { list, told = {}, stopAfter, failAfter, stopHiding } = night
  const stop = new AbortController()
  let [answered, known, recognized, hidden] = [0, 0, 0, 0]
  const listed = listedSource(() => (typeof list === 'function' ? list(answered) : list))
  const source = readBy(listed, async (window, reading) => {
    if (answered === failAfter) throw new Error('reset')
    const page = await listed.readPage(window, reading)
    answered += 1
    if (answered === stopAfter) stop.abort()
    return page
  })
  const watched: Mirror = {
    ...mirror,
    savePages(run, pages, nowMs) {
      for (const { rowIds } of pages) {
        const rows = Array.from(rowIds).filter((rowId) => rowId !== 0).length
        if (rows > 0 && rows === rowIds.length) known += 1
        recognized += rows
      }
      return mirror.savePages(run, pages, nowMs)
    },
    applyPrivacy(run, nowMs) {
      hidden += 1
      if (hidden === stopHiding) stop.abort()
      return mirror.applyPrivacy(run, nowMs)
    },
  }
  const now = () => START_MS + index * DAY_MS
  const outcome = await mirrorOrganization(
    mirroring(watched, source, { resumeWithinMs: 2 * DAY_MS, ...told, now, signal: stop.signal }),
  )
  return { known, recognized, ...outcome }
}
