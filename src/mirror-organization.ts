import type { Ending, RemovalRule, Run, Searched } from './run.ts'
import type { Mirror } from './store.ts'
import { confirmAbsences, MOST_CONTROLS } from './run/confirm-absences.ts'
import { describeError, Interrupted, isOurs, MaxRunReached, OrganizationHeld } from './errors.ts'
import { limitRun } from './run/max-run.ts'
import type { ListAsRead } from './list-as-read.ts'
import { holdOrganization } from './run/heartbeat.ts'
import { ListMemory } from './list-memory/list-memory.ts'
import { ListRecorder } from './list-memory/list-recorder.ts'
import { nextList } from './list-memory/next-list.ts'
import { readWindows, type Arrival, type Reading } from './run/read-windows.ts'
import { emptyReport, type Report, type Trigger } from './report.ts'
import type { Certificate } from './scan/certificate.ts'
import type { Scan } from './scan/scan.ts'
import { writeOutline } from './run/outline.ts'
import { sortPage, type ReadPage } from './run/read-page.ts'
import { rowsForScan } from './run/report-window.ts'
import type { SavedPage } from './sorted-page.ts'
import type { Source } from './source/customers.ts'
import { startScan, type ScanSettings } from './run/start-scan.ts'
import { readingErrors } from './run/stopped-reading.ts'
import { refuseTenantMixup } from './run/tenant-mixup.ts'

/**
 * What a run is told. `organization` is its id. `now`, in Unix milliseconds, gives the times that are stored; whatever lasts is
 * measured by `monotonicMs`, as a wall clock may be set at any time.
 */
export type Mirroring = ScanSettings & {
  organization: string
  source: Pick<Source, 'readPage' | 'search' | 'counters'>
  mirror: Mirror
  trigger: Trigger
  /** Pages asked for at once. */
  concurrency: number
  /** How long the run may take; without it, as long as it takes. */
  maxRunMs?: number | undefined
  /** How old an interrupted scan may be for the run to go on from it. */
  resumeWithinMs: number
  /** When customers that are no longer listed are taken for removed. */
  removals: RemovalRule
  now: () => number
  monotonicMs: () => number
  /** Between 0 and 1. Decides which customers are searched for, where there are too many to be removed. */
  random: () => number
  /** Aborting it finishes the pages under way, keeps them, and ends the run as interrupted. */
  signal: AbortSignal
  onProgress?: ((progress: Progress) => void) | undefined
  /** Whether the caller mirrors again by itself after this error; without it, a run that cannot go on has failed. */
  comesBack?: ((error: unknown, saved: { pages: number }) => boolean) | undefined
}

/**
 * Pages saved in one transaction. A load of random UUIDs writes nearly every page of the index in each, whatever their number;
 * a night writes little, and while it does the service waits.
 */
const PAGES_OF_A_LOAD = 96
const PAGES_OF_A_NIGHT = 16

/**
 * How far a run has come: the customers received so far, each counted once, of those the service says it has. `readBefore` are
 * those an interrupted run had read, where this one goes on from it.
 */
export type Progress = {
  organization: string
  customers: number
  readBefore: number
  total: number | undefined
  pages: number
}

/** What a run did, and the error that ended it, for the caller to decide what follows. */
export type Outcome = { report: Report; error: unknown }

/**
 * Mirrors one organization: reads its list window by window, sorts the records into customers and rejects, saves them page
 * by page, and certifies what was read. Never throws: a run that failed is recorded as such, keeps what it had saved, and
 * comes back with its error.
 */
export async function mirrorOrganization(mirroring: Mirroring): Promise<Outcome> {
  const { organization, mirror, source, trigger, now, monotonicMs } = mirroring
  let run: Run
  try {
    // A plain scan records no windows, and must not take those of another kind for its own.
    const resumeWithinMs = mirroring.scan === 'chain' ? mirroring.resumeWithinMs : undefined
    run = await mirror.startRun({ organization, trigger, resumeWithinMs, nowMs: now(), monotonicMs })
  } catch (error) {
    return { report: unrecorded(error), error }
  }
  const held = holdOrganization(mirror, run, now)
  const limit = limitRun(mirroring)
  try {
    const errors = readingErrors(organization)
    const memory = new ListMemory(run.list, run)
    const recognition = { memory, fingerprint: run.fingerprint }
    const recorder = new ListRecorder(run.list.warnings)
    const scan = await startScan(mirroring, { mirror, run, recorder })
    // Each page is made ready as it arrives, while the next ones are on their way.
    const sortArrived: Reading<ReadPage>['readPage'] = async (window, options) => {
      const page = await source.readPage(window, options)
      try {
        return sortPage(page, mirroring.scan === 'chain' ? window : undefined, recognition)
      } catch (error) {
        page.release?.()
        throw error
      }
    }
    const readPage: typeof sortArrived = (window, options) => errors.watch(sortArrived(window, options))
    const savedTogether = run.isBaseline ? PAGES_OF_A_LOAD : PAGES_OF_A_NIGHT
    const reading = { ...mirroring, scan, readPage, savedTogether, stop: limit.signal, abort: held.lost }
    await readWindows(reading, (arrivals) => saveArrivals({ scan, recorder }, arrivals))
    const certificate = scan.certificate()
    errors.refuseUnfinished(certificate)
    const searched = await searchForAbsent(certificate)
    const isCutShort = certificate.reasons.includes('page-limit')
    const list = isCutShort ? undefined : listRead(recorder, memory)
    const ending = { ...completed(certificate, { rule: mirroring.removals, ...searched }), list }
    return { report: await finish(ending), error: undefined }
  } catch (failure) {
    const error = whatEnded(failure)
    const status = statusAfter(error, run)
    const ending = {
      status,
      proof: 'unproven',
      reasons: [status],
      readToEnd: false,
      error: describeError(error),
    } as const
    // Where the mirror itself failed, the run stays open in it, and the next run of this organization closes it.
    const report = await finish(ending).catch(() => ({ ...unrecorded(error), ...ofRun(run) }))
    return { report, error }
  } finally {
    limit.end()
    held.stop()
  }

  async function saveArrivals({ scan, recorder }: Followers, arrivals: Arrival<ReadPage>[]): Promise<void> {
    const pages = arrivals.map(({ page }) => page.sorted)
    if (run.pages === 0) await refuseTenantMixup(mirror, organization, pages)
    const { pages: saved } = await mirror.savePages(run, pages, now())
    for (const [index, { window, page }] of arrivals.entries()) {
      const savedPage = saved[index] ?? NOTHING_SAVED
      const { size, total, beyondEnd, outline, known, digest } = page
      page.release?.()
      const start = size * (page.sorted.page - 1)
      scan.read({
        ...{ window, total, beyondEnd, perPage: size },
        rows: rowsForScan(page, savedPage),
        neighbours: outline.order,
      })
      if (known !== undefined) recorder.addKnown({ start, size }, known, run.list.columns)
      else recorder.add({ start, size, digest, outline: writeOutline(outline) }, savedPage.rowIds, page.sorted.rows)
    }
    if (!scan.done) limit.look()
    const total = arrivals.at(-1)?.page.total
    const { received, duplicates } = run.records
    const { readBefore, pages: pagesRead } = run
    mirroring.onProgress?.({ organization, customers: received - duplicates, readBefore, total, pages: pagesRead })
  }

  function listRead(recorder: ListRecorder, memory: ListMemory): ListAsRead {
    const customers = run.seen.size + run.rejectedIds.size
    return nextList(recorder, {
      customers,
      before: { list: run.list, isCertain: (rowId) => memory.isCertain(rowId) },
    })
  }

  /** The whole list has been read: an outage or a stop during the searches postpones removals, and ends nothing. */
  async function searchForAbsent({ proof }: Certificate): Promise<Searched> {
    if (proof === 'unproven') return NOT_SEARCHED
    const candidates = await mirror.findRemovalCandidates(run, { rule: mirroring.removals, proof })
    if (candidates.length === 0) return NOT_SEARCHED
    const controls = await mirror.findListed(run, MOST_CONTROLS)
    const signal = AbortSignal.any([limit.signal, held.lost])
    return confirmAbsences(candidates, controls, {
      search: (text) => source.search(text, { signal }),
      requestsMade: () => source.counters.requests,
      random: mirroring.random,
      signal,
    })
  }

  function statusAfter(error: unknown, { pages }: Run): 'interrupted' | 'waiting' | 'failed' {
    if (error instanceof Interrupted || error instanceof MaxRunReached) return 'interrupted'
    return mirroring.comesBack?.(error, { pages }) === true ? 'waiting' : 'failed'
  }

  function finish(ending: Omit<Ending, 'source'>): Promise<Report> {
    return mirror.finishRun(run, { ...ending, source: { ...mirroring.source.counters } }, now())
  }

  function whatEnded(failure: unknown): unknown {
    if (held.lost.aborted) return held.lost.reason
    return mirroring.signal.aborted && !isOurs(failure) ? interrupted(organization) : failure
  }

  function unrecorded(error: unknown): Report {
    const reason = error instanceof OrganizationHeld ? 'held' : 'failed'
    const empty = emptyReport({ organization, trigger, startedAtMs: now() })
    return { ...empty, ...mirroring.source.counters, reasons: [reason], error: describeError(error) }
  }
}

/** What is known of a run that could not be recorded to its end. */
function ofRun({ id, records, pages, resumedFrom, readBefore }: Run): Partial<Report> {
  return { ...records, runId: id, pages, resumedFrom, readBefore }
}

const NOT_SEARCHED: Searched = { confirmed: new Set() }
const NOTHING_SAVED: SavedPage = { rowIds: [], unchanged: new Set() }

/** Who is told of each window that was saved. */
type Followers = { scan: Scan; recorder: ListRecorder }

function completed(certificate: Certificate, removals: Ending['removals']): Omit<Ending, 'source'> {
  const { proof, reasons } = certificate
  const readToEnd = proof !== 'unproven' || reasons.every((reason) => reason === 'plain-scan')
  return { status: 'complete', proof, reasons, readToEnd, certificate, removals }
}

function interrupted(organization: string): Interrupted {
  return new Interrupted(`${organization}: stopped as asked. What was read so far is saved; sync again to go on.`)
}
