import type { ListAsRead } from '../model/list-as-read.ts'
import { KnownList, ListRecorder } from './list-as-read.ts'
import type { RecordedWindow, Run } from '../model/run.ts'
import type { Certificate, Scan } from '../scan/scan.ts'
import type { Row } from '../model/customer.ts'
import type { StoppedAt, WindowAnswer } from '../scan/window.ts'
import { ONE_SIZE } from '../source/customers-page.ts'
import type { CustomersPage, Source } from '../source/customers.ts'
import type { Mirror } from '../store/mirror.ts'
import { sortPage, type ReadPage } from './sorting/sort-page.ts'
import { WindowReading, type Reading, type Save } from './read-windows.ts'
import { ListScan } from '../scan/list-scan.ts'
import type { Reason } from '../model/reasons.ts'
import { ContractBroken, windowFailureOf } from '../errors/errors.ts'
import { foreignAnswers, refuseTenantMixup } from './tenant-mixup.ts'

export type ListSettings = {
  organization: string
  /** `chain` proves that every customer was read; `plain` reads page 1 to the last, and proves nothing. */
  scan: 'chain' | 'plain'
  /** Records on a page, 1 to 100. */
  pageSize: number
  source: Pick<Source, 'readPage' | 'search' | 'counters'> & Partial<Pick<Source, 'clockOffsetMs'>>
  mirror: Mirror
  concurrency: number
  /** Unix milliseconds, for dates; durations are measured by `monotonicMs`. */
  now: () => number
  monotonicMs: () => number
  onProgress?: ((progress: Progress) => void) | undefined
}

/** The customers received so far, each once, and the total of the service; `readBefore`: those of the interrupted run that this one continues. */
export type Progress = {
  organization: string
  customers: number
  readBefore: number
  total: number | undefined
  pages: number
}

/** What ends a reading early. */
export type ReadingLimits = {
  /** Ends the reading after current pages are finished and saved. */
  stop: AbortSignal
  /** Called after each save while there is more to read. */
  look(): void
}

/** Reads the list of a run and saves its pages. Returns the certificate, and the list for the next run. Throws what kept it from the end. */
export async function readList(settings: ListSettings, run: Run, limits: ReadingLimits) {
  const known = new KnownList(run.list, run)
  const recorder = new ListRecorder(known)
  const { scan: kind, mirror, pageSize } = settings
  const scan =
    kind === 'plain'
      ? new ListScan({ pageSize, isPlain: true })
      : new ListScan({ pageSize, recalled: recalledReads(await mirror.recallWindows(run), recorder) })
  const read = await readPages(settings, run, limits, { scan, recorder, known })
  const judged = judgeSurplus(read, run)
  refuseGaps(judged, settings.organization)
  const { total } = judged
  const list = recorder.next(run.seen.size + run.rejectedIds.size)
  const cappedAt = cappedTotal(total, { before: run.list, after: list }, run)
  const certificate = judgeCut(judged, cappedAt)
  // A plain scan proves nothing, and reads the list to its end all the same.
  const readToEnd = certificate.proof !== 'unproven' || certificate.reasons.every((reason) => reason === 'plain-scan')
  return { certificate, readToEnd, list: { ...list, total, cappedAt } }
}

/** The windows read before an interruption, for the scan. Adds their customers to the list for the next run too. */
function* recalledReads(windows: Iterable<RecordedWindow>, recorder: ListRecorder): Generator<WindowAnswer> {
  for (const { page, size, rows, ...read } of windows) {
    const start = read.perPage * (page - 1)
    recorder.add(
      { start, size: read.perPage },
      rows.map(({ rowId = 0 }) => rowId),
    )
    yield { ...read, window: { page, size }, rows }
  }
}

/** Reads the windows that a scan asks for, and saves their pages; without a recorder, it leaves no list. Throws what kept it from the end. */
export async function readPages(
  settings: Omit<ListSettings, 'source'> & { source: Pick<Source, 'readPage'> },
  run: Run,
  limits: ReadingLimits,
  { scan, recorder, known }: { scan: Scan; recorder?: ListRecorder | undefined; known: KnownList },
): Promise<Certificate> {
  const { organization, mirror, source, concurrency, now, monotonicMs, onProgress } = settings
  const recognition = { known, fingerprint: run.fingerprint, hidden: run.privacy?.hidden, forgotten: run.forgotten }
  // A scan that never comes to the end of the list ends its run with the latest error of the kind that stopped it.
  const errors = new Map<StoppedAt['failure'], unknown>()
  // Each page is prepared when it arrives, while the next requests are open.
  const readPage: Reading['readPage'] = async (window, options) => {
    let page: CustomersPage | undefined
    try {
      page = await source.readPage(window, options)
      if (page.refusal !== undefined) errors.set('not-found', page.refusal)
      return sortPage(page, settings.scan === 'chain' ? window : undefined, recognition)
    } catch (error) {
      page?.release?.()
      const failure = windowFailureOf(error)
      if (failure !== undefined) errors.set(failure, error)
      throw error
    }
  }
  const reading: Reading = {
    ...{ scan, readPage, stop: limits.stop, monotonicMs, concurrency },
    savedTogether: mirror.pagesAtOnce(run),
  }
  // A plain scan asks for no window again.
  const foreignAmong = settings.scan === 'chain' ? foreignAnswers(mirror, organization) : () => new Set<ReadPage>()
  const save: Save = async (arrivals, onWaiting) => {
    const arrived = arrivals.map(({ page }) => page)
    if (run.pages === 0) await refuseTenantMixup(mirror, organization, arrived)
    const foreign = await foreignAmong(arrived)
    const saving = arrived.filter((page) => !foreign.has(page))
    const saved = await mirror.savePages(run, saving, now(), onWaiting)
    const rowsOf = new Map(saving.map((page, index) => [page, saved.pages[index]]))
    for (const { window, page } of arrivals) {
      page.release?.()
      const rowIds = rowsOf.get(page)
      if (rowIds === undefined) {
        scan.failed(window, 'page-mismatch')
        continue
      }
      const { size, total, beyondEnd, order } = page
      scan.read({ window, total, beyondEnd, perPage: size, rows: rowsForScan(page, rowIds), rowOrder: order })
      recorder?.add({ start: size * (page.page - 1), size }, rowIds, page)
    }
    const { records, readBefore, pages } = run
    const total = arrivals.at(-1)?.page.total
    onProgress?.({ organization, customers: records.received - records.duplicates, readBefore, total, pages })
    if (!scan.done) limits.look()
  }
  await new WindowReading(reading, save).run()
  const certificate = scan.certificate()
  const { stoppedAt } = certificate
  if (stoppedAt !== undefined) throw errors.get(stoppedAt.failure) ?? errorOf(stoppedAt, organization)
  return certificate
}

/** The error of a window whose answer was found wrong only by comparison with others. */
function errorOf({ window: { page, size }, failure }: StoppedAt, organization: string): Error {
  const what = WRONG[failure]
  return new ContractBroken(
    `${organization}: the answer for page ${page}, per_page ${size}, ${what ?? 'had another page, or another size, than the one asked for.'} The ` +
      'list was not read to its end; what was read is kept. Look for a cache or a proxy in between, then sync again.' +
      (what === undefined ? ONE_SIZE : ''),
    { code: failure === 'repeated-page' || failure === 'page-cap' ? failure : 'page-mismatch' },
  )
}

const WRONG: Partial<Record<StoppedAt['failure'], string>> = {
  'repeated-page': 'held the customers of another page.',
  'not-found': 'held no customers, although the total promises more.',
  'page-cap': 'is one more than the list can need: it has no end.',
}

/** A reading may leave out this share of the list, such as single pages that a cache answers. */
const MOST_LEFT_OUT = 0.1
/** And so many single records that the service cannot send, which are known as holes: of a short list they may be a larger share. */
const MOST_HOLES = 20
/** Without one of these, and with a total, each window went on where the one before ended. */
const LEFT_OUT: readonly Reason[] = ['short-page', 'total-mismatch', 'hole', 'cached-answer', 'too-large']

/**
 * Throws ContractBroken `page-mismatch` when the pages of a reading left out so much of the list that it was not read: records before the
 * last one, or all of them. Where empty pages stand behind the last customer, the total may be too high.
 */
export function refuseGaps(
  { total, reasons, holes, limit, unrepeated, reach }: Omit<Certificate, 'proof'>,
  organization: string,
): void {
  if (total !== undefined && !LEFT_OUT.some((reason) => reasons.includes(reason))) return
  const isTotalTrusted = reach === 0 || reasons.includes('cached-answer') || reasons.includes('too-large')
  const promised = isTotalTrusted ? Math.max(reach, Math.min(total ?? 0, limit ?? Infinity)) : reach
  const known = holes.reduce((sum, { size }) => sum + size, 0)
  if (promised - unrepeated - Math.min(known, MOST_HOLES) <= promised * MOST_LEFT_OUT) return
  throw new ContractBroken(
    `${organization}: the pages of the service held ${unrepeated} of the first ${promised} customers that it counts. What was read is kept. ` +
      'Look for a cache or a proxy in between, and for errors of the service, then sync again.',
    { code: 'page-mismatch' },
  )
}

/** Fewer customers than these may leave the list while it is read. */
const FEW = 20
const FEW_SHARE = 0.01

/**
 * Takes the proof from a scan that received many more customers than the service counts, as many of them new: an answer that was asked for again
 * may have brought them, and they are not listed. In an initial sync, where all are new, they may also have been purged meanwhile.
 */
export function judgeSurplus(
  certificate: Certificate,
  { isBaseline, seen, rejectedIds, records }: Pick<Run, 'isBaseline' | 'seen' | 'rejectedIds' | 'records'>,
): Certificate {
  const { proof, total, reasons } = certificate
  if (isBaseline || proof === 'unproven' || total === undefined) return certificate
  const surplus = Math.min(seen.size + rejectedIds.size - total, records.inserted)
  if (surplus <= Math.max(FEW, total * FEW_SHARE)) return certificate
  return { ...certificate, proof: 'unproven', reasons: [...reasons, 'total-mismatch'] }
}

/** The rows of a saved page, for the scan: a known record is often only its row number, except for the first and the last of a page. */
function rowsForScan({ rows, ends }: Pick<ReadPage, 'rows' | 'ends'>, rowIds: ArrayLike<number>): Row[] {
  const [first, last] = ends ?? []
  return Array.from(rowIds, (rowId, place) => {
    const row = rows[place] ?? (place === 0 ? first : place === rowIds.length - 1 ? last : undefined)
    return { id: row?.id, createdAt: row?.createdAt, rowId: rowId === 0 ? undefined : rowId }
  })
}

/** The rows of a list as a run left it, in order. */
type Listed = { readonly columns: Pick<ListAsRead['columns'], 'rowIds'> }

/**
 * The total at which the service stops counting, if two nights show it together. Customers came and the total is the same as before; those
 * who stood at the end of the list are absent; and the list now ends with the one who stood before them: so those who came have pushed them
 * behind a limit. Once found, a limit stays one as long as the total does.
 */
export function cappedTotal(
  total: number | undefined,
  { before, after }: { before: Listed & Pick<ListAsRead, 'total' | 'cappedAt'>; after: Listed },
  { seen, records }: { seen: Pick<Run['seen'], 'has'>; records: Pick<Run['records'], 'inserted'> },
): number | undefined {
  if (total === undefined) return undefined
  if (total === before.cappedAt) return total
  if (total !== before.total || records.inserted === 0) return undefined
  const { rowIds } = before.columns
  const end = rowIds.findLastIndex((rowId) => seen.has(rowId))
  const isPushedOut = end >= 0 && end < rowIds.length - 1 && after.columns.rowIds.at(-1) === rowIds[end]
  return isPushedOut ? total : undefined
}

/** The certificate of a scan whose list is cut off at `cappedAt`. */
function judgeCut(certificate: Certificate, cappedAt: number | undefined): Certificate {
  const { reasons } = certificate
  if (cappedAt === undefined) return certificate
  const all = new Set<Reason>([...reasons, 'capped-total'])
  return { ...certificate, proof: 'unproven', isWhole: false, reasons: [...all] }
}
