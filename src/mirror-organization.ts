import { sortRecords } from './customer.ts'
import { describeError, Interrupted, isOurs, OrganizationHeld } from './errors.ts'
import { holdOrganization } from './mirror/hold-organization.ts'
import type { Mirror } from './mirror/mirror.ts'
import type { Ending, Run } from './mirror/runs.ts'
import { emptyReport, type Report, type Trigger } from './report.ts'
import { readWindows, type Arrival } from './read-windows.ts'
import { plainScan } from './scan/plain-scan.ts'
import type { Source } from './source/customers.ts'

/** What a run is told. `organization` is its id; times come from `now`, in Unix milliseconds. */
export type Mirroring = {
  organization: string
  source: Pick<Source, 'readPage' | 'counters'>
  mirror: Mirror
  trigger: Trigger
  /** Records a page, 1 to 100. */
  pageSize: number
  /** Pages asked for at once. */
  concurrency: number
  /** Stop after so many pages, for a trial. */
  pageLimit?: number | undefined
  now: () => number
  /** Aborting it finishes the page at hand, keeps it, and ends the run as interrupted. */
  signal: AbortSignal
  onProgress?: ((progress: Progress) => void) | undefined
}

/** How far a run has come. */
export type Progress = { organization: string; received: number; total: number | undefined; pages: number }

/** What a run did, and the error that ended it, for the caller to decide what follows. */
export type Outcome = { report: Report; error: unknown }

/**
 * Mirrors one organization: reads its list window by window, sorts the records into customers and rejects, saves them page
 * by page, and certifies what was read. Never throws: a run that failed is recorded as such, keeps what it had saved, and
 * comes back with its error.
 */
export async function mirrorOrganization(mirroring: Mirroring): Promise<Outcome> {
  const { organization, mirror, trigger, now } = mirroring
  const scan = plainScan(mirroring)
  let run: Run
  try {
    run = await mirror.startRun({ organization, trigger, nowMs: now() })
  } catch (error) {
    return { report: unrecorded(error), error }
  }
  const held = holdOrganization(mirror, run, now)
  try {
    const { readPage } = mirroring.source
    await readWindows({ ...mirroring, scan, readPage, stop: mirroring.signal, abort: held.lost }, saveArrivals)
    return { report: await finish({ status: 'complete', ...scan.certificate() }), error: undefined }
  } catch (failure) {
    const error = whatEnded(failure)
    const status = error instanceof Interrupted ? 'interrupted' : 'failed'
    const ending = {
      status,
      proof: 'unproven',
      reasons: [status],
      readToEnd: false,
      error: describeError(error),
    } as const
    // Where the mirror itself failed, the run stays open in it, and the next run of this organization closes it.
    const report = await finish(ending).catch(() => ({ ...unrecorded(error), ...run.records, runId: run.id }))
    return { report, error }
  } finally {
    held.stop()
  }

  async function saveArrivals(arrivals: Arrival[]): Promise<void> {
    const pages = arrivals.map(({ page: { page, records, bytes } }) => {
      return { ...sortRecords(records, { pageBytes: bytes }), page, received: records.length }
    })
    await mirror.savePages(run, pages, now())
    arrivals.forEach(({ window, page }, index) => {
      scan.read({ ...page, window, rows: pages[index]?.rows ?? [], perPage: page.size })
    })
    const total = arrivals.at(-1)?.page.total
    mirroring.onProgress?.({ organization, received: run.records.received, total, pages: run.pages })
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

function interrupted(organization: string): Interrupted {
  return new Interrupted(`${organization}: stopped as asked. What was read so far is saved; sync again to go on.`)
}
