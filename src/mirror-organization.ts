import { sortRecords } from './customer.ts'
import { describeError, Interrupted, OrganizationHeld } from './errors.ts'
import { holdOrganization } from './mirror/hold-organization.ts'
import type { Mirror } from './mirror/mirror.ts'
import type { Ending, Run } from './mirror/runs.ts'
import { emptyReport, type Report, type Trigger } from './report.ts'
import { plainScan } from './scan/plain-scan.ts'
import type { Scan, Window } from './scan/scan.ts'
import type { CustomersPage, Source } from './source/customers.ts'

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
  const held = holdOrganization(mirror, run, mirroring)
  try {
    await readAll({ ...mirroring, signal: held.signal }, run, scan)
    const certificate = scan.certificate()
    return await finish({ status: 'complete', ...certificate })
  } catch (failure) {
    const error = held.lost() ?? (mirroring.signal.aborted ? interrupted(organization) : failure)
    const status = error instanceof Interrupted ? 'interrupted' : 'failed'
    return await finish({ status, proof: 'unproven', reasons: [status], readToEnd: false }, error)
  } finally {
    held.stop()
  }

  async function finish(ending: Omit<Ending, 'source' | 'error'>, error?: unknown): Promise<Outcome> {
    const whole: Ending = {
      ...ending,
      source: { ...mirroring.source.counters },
      error: error === undefined ? undefined : describeError(error),
    }
    try {
      return { report: await mirror.finishRun(run, whole, now()), error }
    } catch (failure) {
      // The mirror itself failed: the run stays open in it, and the next run of this organization closes it.
      const cause = error ?? failure
      return { report: { ...unrecorded(cause), ...run.records, ...whole.source, runId: run.id }, error: cause }
    }
  }

  function unrecorded(error: unknown): Report {
    const empty = emptyReport({ organization, trigger, startedAtMs: now() })
    return { ...empty, reasons: [error instanceof OrganizationHeld ? 'held' : 'failed'], error: describeError(error) }
  }
}

/** Reads until the scan is done, several windows at once, and saves the pages that have arrived together. */
async function readAll(mirroring: Mirroring, run: Run, scan: Scan): Promise<void> {
  const { source, mirror, now } = mirroring
  const cancel = new AbortController()
  const signal = AbortSignal.any([mirroring.signal, cancel.signal])
  const underWay = new Set<Promise<void>>()
  let arrived: { window: Window; page: CustomersPage }[] = []

  const ask = (window: Window) => {
    const reading = source.readPage(window, { signal }).then((page) => {
      arrived.push({ window, page })
    })
    const settled = reading.finally(() => underWay.delete(settled))
    underWay.add(settled)
  }

  try {
    while (!scan.done) {
      mirroring.signal.throwIfAborted()
      for (const window of scan.next(mirroring.concurrency - underWay.size)) ask(window)
      if (underWay.size > 0) await Promise.race(underWay)
      await saveArrived()
    }
  } catch (error) {
    cancel.abort()
    await Promise.allSettled(underWay)
    await saveArrived()
    throw error
  }

  async function saveArrived(): Promise<void> {
    const pages = arrived
    arrived = []
    if (pages.length === 0) return
    const sorted = pages.map(({ page }) => ({
      ...sortRecords(page.records, { pageBytes: page.bytes }),
      page: page.page,
      received: page.records.length,
    }))
    await mirror.savePages(run, sorted, now())
    pages.forEach(({ window, page }, index) => {
      scan.read({ window, rows: sorted[index]?.rows ?? [], perPage: page.size, ...page })
    })
    const total = pages.at(-1)?.page.total
    mirroring.onProgress?.({
      organization: run.organization,
      received: run.records.received,
      total,
      pages: run.pages,
    })
  }
}

function interrupted(organization: string): Interrupted {
  return new Interrupted(`${organization}: stopped as asked. What was read so far is saved; sync again to go on.`)
}
