import { expect } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Report } from '../../src/model/report.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { START_MS, DAY_MS } from './builders.ts'
import { listedSource, mirroring, readBy } from './listed-source.ts'
import { aMirror, tamper, withReader } from './mirror-file.ts'

/** A scan as a chain, one request at a time. */
export const CHAIN = { scan: 'chain', concurrency: 1 } as const

/** One night: the list, and the events during the run. */
export type Night = {
  /** The list, or a function from the number of answered pages to the list. */
  list: readonly unknown[] | ((answered: number) => readonly unknown[])
  told?: Partial<Mirroring>
  /** Pages after which the run is stopped, or its source fails. */
  stopAfter?: number | undefined
  failAfter?: number | undefined
  /** Steps of a changed policy after which the run is stopped. */
  stopHiding?: number | undefined
  /** A change of the mirror after that many answered pages. */
  meanwhile?: { after: number; meddle: (mirror: Mirror) => Promise<void> }
}

/** Plays the nights in a mirror that keeps the list as last read and in one that forgets it, and compares them after each night. */
export async function expectAlike(nights: readonly Night[]) {
  const remembering = await aMirror()
  const forgetting = await aMirror()
  const known: number[] = []
  const recognized: number[] = []
  const reports: Report[] = []
  const [{ list, told } = { list: [] }] = nights
  for (const mirror of [remembering, forgetting])
    await makeNight(mirror, -1, told === undefined ? { list } : { list, told })
  for (const [index, night] of nights.entries()) {
    const made = await makeNight(remembering, index, night)
    forgetCustomersOfList(forgetting.file)
    const anew = await makeNight(forgetting, index, night)
    expect({ night: index, ...made.report }).toEqual({ night: index, ...anew.report })
    expect({ night: index, ...contents(remembering) }).toEqual({ night: index, ...contents(forgetting) })
    expect([anew.known, anew.recognized]).toEqual([0, 0])
    known.push(made.known)
    recognized.push(made.recognized)
    reports.push(made.report)
  }
  return { mirror: remembering, known, recognized, reports }
}

/** Forgets how the customers of the list are known again, and keeps their order and their total: these may cost a scan its proof. */
function forgetCustomersOfList(file: string): void {
  tamper(file, 'UPDATE lists SET marks = zeroblob(length(marks))')
}

/** One run; `known` counts the pages that were not parsed, `recognized` the records. */
export async function makeNight(mirror: Mirror, index: number, night: Night) {
  const { list, told = {}, stopAfter, failAfter, stopHiding, meanwhile } = night
  const stop = new AbortController()
  let [answered, known, recognized, hidden] = [0, 0, 0, 0]
  const listed = listedSource(() => (typeof list === 'function' ? list(answered) : list))
  if (meanwhile?.after === 0) await meanwhile.meddle(mirror)
  const source = readBy(listed, async (window, reading) => {
    if (answered === failAfter) throw new Error('reset')
    const page = await listed.readPage(window, reading)
    answered += 1
    if (answered === stopAfter) stop.abort()
    if (answered === meanwhile?.after) await meanwhile.meddle(mirror)
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
  const { report } = await mirrorOrganization(
    mirroring(watched, source, { resumeWithinMs: 2 * DAY_MS, ...told, now, signal: stop.signal }),
  )
  return { known, recognized, report }
}

/** All public contents of the mirror. */
function contents({ file }: Mirror) {
  return withReader(file, (reader) => ({
    customers: reader.all('SELECT * FROM customers ORDER BY row_id'),
    changes: reader.all('SELECT * FROM changes ORDER BY seq'),
    rejects: reader.all('SELECT * FROM rejects ORDER BY reject_id'),
    runs: reader.all('SELECT * FROM runs ORDER BY id'),
    held: reader.all('SELECT * FROM held_rows ORDER BY row_id'),
  }))
}
