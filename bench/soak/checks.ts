import { z } from 'zod'
import type { Removal, StoredCustomer, StoredRun } from './stored.ts'
import type { Report, SeenRequest, Stay } from './service.ts'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import type { ServiceCustomer } from '../../src/service/customers.ts'

/** What the service lists now, and what it ever listed; what the mirror holds, and what it ever removed. */
export type Compared = {
  organization: string
  listed: readonly ServiceCustomer[]
  stays: ReadonlyMap<string, readonly Stay[]>
  stored: readonly StoredCustomer[]
  removals: readonly Removal[]
}

/**
 * Compares the mirror of an organization with its service: active are exactly the listed customers, each field as listed; removed
 * are those that left, and no customer was ever removed who was listed all the time since it was found missing. Findings hold ids only.
 */
export function compareCustomers({ organization, listed, stays, stored, removals }: Compared): string[] {
  const byId = new Map(stored.map((row) => [row.id, row]))
  const listedIds = new Set(listed.map(({ id }) => id))
  return [
    ...listed.flatMap((customer) => differences(customer, byId.get(customer.id))),
    ...stored.filter(({ id }) => !listedIds.has(id)).flatMap((row) => whyNotListed(row, stays.has(row.id))),
    ...removals.filter((removal) => wasListed(removal, stays.get(removal.id) ?? [])).map(wronglyRemoved),
  ].map((finding) => `${organization}: ${finding}`)
}

function differences(customer: ServiceCustomer, row: StoredCustomer | undefined): string[] {
  const { id } = customer
  if (row === undefined) return [`customer ${id} is listed and not in the mirror`]
  if (row.removed_at !== null) return [`customer ${id} is listed and removed in the mirror`]
  const missing = row.missing_since === null ? [] : [`customer ${id} is listed and missing in the mirror`]
  const fields = TEXT_FIELDS.filter((field) => row[field] !== customer[field])
  return [...missing, ...fields.map((field) => `customer ${id} has another ${field} in the mirror`)]
}

function whyNotListed({ id, removed_at }: StoredCustomer, wasEverListed: boolean): string[] {
  if (!wasEverListed) return [`customer ${id} was never listed`]
  return removed_at === null ? [`customer ${id} has left and is active in the mirror`] : []
}

function wasListed({ missingMs, atMs }: Removal, stays: readonly Stay[]): boolean {
  return stays.some(({ fromMs, toMs }) => fromMs <= missingMs && atMs <= toMs)
}

function wronglyRemoved({ id, atMs }: Removal): string {
  return `customer ${id} was removed at ${new Date(atMs).toISOString()} although it was listed all the time since it was missing`
}

/** What the soak did to a life of a worker: when it stood still, and when it ended. */
export type Fate = { name: string; frozenAtMs: readonly number[]; endedAtMs: number | undefined }

/** Runs of one organization that were under way at the same time, by the mirror. */
export function overlappingRuns(runs: readonly StoredRun[]): string[] {
  return [...Map.groupBy(runs, ({ organization }) => organization)].flatMap(([organization, own]) => {
    const inOrder = own.toSorted((a, b) => a.startedMs - b.startedMs || a.id - b.id)
    return inOrder.flatMap((run, index) => {
      const before = inOrder[index - 1]
      return before === undefined || before.finishedMs <= run.startedMs
        ? []
        : [`${organization}: run ${run.id} began before run ${before.id} had ended`]
    })
  })
}

/**
 * Requests that two workers sent during one run, by the service. A worker that stood still before may send what it was about to, a few
 * requests, until it sees that another one has taken over; requests of one that is dead were under way.
 */
export function requestsOfTwo(
  runs: readonly StoredRun[],
  requests: readonly SeenRequest[],
  fates: readonly Fate[],
): string[] {
  const byName = new Map(fates.map((fate) => [fate.name, fate]))
  const byOrganization = Map.groupBy(requests, ({ organization }) => organization)
  return runs.flatMap((run) => {
    const during = (byOrganization.get(run.organization) ?? []).filter(
      ({ atMs }) => run.startedMs <= atMs && atMs <= run.finishedMs,
    )
    const lives = [...Map.groupBy(during, ({ life }) => life)].toSorted((a, b) => b[1].length - a[1].length)
    return lives
      .slice(1)
      .filter(([life, strays]) => !areExcused(strays, byName.get(life)))
      .map(
        ([life, strays]) =>
          `${run.organization}: during run ${run.id} of ${lives[0]?.[0]}, ${life} sent ${strays.length} requests too`,
      )
  })
}

function areExcused(strays: readonly SeenRequest[], fate: Fate | undefined): boolean {
  if (fate === undefined || strays.length > MOST_STRAYS) return false
  return strays.every(
    ({ atMs }) => (fate.endedAtMs ?? Infinity) <= atMs || fate.frozenAtMs.some((frozenMs) => frozenMs <= atMs),
  )
}

/** More than are under way at once, with their retries. */
const MOST_STRAYS = 40

/**
 * Runs that were given up although no worker that may have made them ended or stood still meanwhile: a second one was started beside
 * the first, and closed it.
 */
export function abandonedForNothing(
  runs: readonly StoredRun[],
  requests: readonly SeenRequest[],
  fates: readonly Fate[],
): string[] {
  return runs
    .filter(({ error }) => error?.startsWith(GIVEN_UP) === true)
    .map((run) => ({ ...run, takenOverMs: nextStart(runs, run) }))
    .filter((run) => !makersOf(run, requests, fates).some((fate) => struckDuring(fate, run)))
    .map(
      ({ organization, id }) => `${organization}: run ${id} was given up although no worker had ended or stood still`,
    )
}

/** How the mirror describes a run that never ended by itself. */
const GIVEN_UP = 'The process ended before the run did.'

/** A run until the next one of its organization began. Its own end is when its lease was renewed last, before its worker was struck. */
type GivenUp = StoredRun & { takenOverMs: number }

function nextStart(runs: readonly StoredRun[], { organization, id }: StoredRun): number {
  return runs.find((run) => run.organization === organization && run.id > id)?.startedMs ?? Infinity
}

/** The workers that sent requests during the run; all of them where the service saw none. */
function makersOf(
  { organization, startedMs, takenOverMs }: GivenUp,
  requests: readonly SeenRequest[],
  fates: readonly Fate[],
): readonly Fate[] {
  const during = requests.filter(
    (seen) => seen.organization === organization && startedMs <= seen.atMs && seen.atMs <= takenOverMs,
  )
  const names = new Set(during.map(({ life }) => life))
  return names.size === 0 ? fates : fates.filter(({ name }) => names.has(name))
}

function struckDuring({ frozenAtMs, endedAtMs }: Fate, { startedMs, takenOverMs }: GivenUp): boolean {
  const struckMs = endedAtMs === undefined ? frozenAtMs : [...frozenAtMs, endedAtMs]
  return struckMs.some((atMs) => startedMs <= atMs && atMs <= takenOverMs)
}

/** One organization: when it was due, and when its complete runs began. Unix milliseconds. */
export type Kept = { organization: string; dueMs: readonly number[]; startsMs: readonly number[] }

/** Since when and until when a worker, the queue and the service were there, and not only by the clock. */
export type WellFor = (fromMs: number, toMs: number) => number

/**
 * Due times after which no complete run began, although a worker, the queue and the service were there for longer than `allowedMs` in
 * total. One run is enough for several due times.
 */
export function missedDueTimes(
  { organization, dueMs, startsMs }: Kept,
  { wellFor, allowedMs, endMs }: { wellFor: WellFor; allowedMs: number; endMs: number },
): string[] {
  const starts = startsMs.toSorted((a, b) => a - b)
  return dueMs.flatMap((due) => {
    const next = starts.find((start) => start >= due)
    const wellMs = wellFor(due, next ?? endMs)
    if (wellMs <= allowedMs) return []
    const then =
      next === undefined ? 'no run followed' : `the next run began ${Math.round((next - due) / 1000)} s later`
    return [`${organization}: was due at ${new Date(due).toISOString()}, and ${then}`]
  })
}

/** Due times for which the schedule read a list to its end more than once. `asOfMs`: when the reading of each complete run began. */
export function repeatedDueTimes({
  organization,
  dueMs,
  asOfMs,
}: Pick<Kept, 'organization' | 'dueMs'> & { asOfMs: readonly number[] }): string[] {
  const counted = Map.groupBy(asOfMs, (atMs) => dueMs.findLast((due) => due <= atMs))
  return [...counted].flatMap(([due, each]) =>
    due === undefined || each.length === 1
      ? []
      : [`${organization}: was due at ${new Date(due).toISOString()}, and was read ${each.length} times for that`],
  )
}

/** Runs that did not end as a run must: with a certificate, or with a reason, and with numbers that add up. */
export function badlyEnded(runs: readonly StoredRun[]): string[] {
  return runs.flatMap((run) => problems(run).map((problem) => `${run.organization}: run ${run.id} ${problem}`))
}

function problems({
  status,
  certificate,
  error_code,
  error,
  unaccounted,
  held,
  isPartial,
  finishedMs,
}: StoredRun): string[] {
  const hasEnded = status !== 'running'
  const needsCertificate = status === 'complete' && !isPartial
  const found: (string | false)[] = [
    !hasEnded && 'never ended',
    hasEnded && Number.isNaN(finishedMs) && `is ${status} and has no end`,
    needsCertificate && certificate === null && 'is complete and has no certificate',
    (status === 'failed' || status === 'interrupted') && error_code === null && `is ${status} and has no reason`,
    UNEXPECTED.has(error_code ?? '') && `ended with ${error_code}: ${error ?? ''}`,
    unaccounted !== 0 && `does not account for ${unaccounted} records`,
    held > 0 && `held back ${held} removals`,
  ]
  return found.filter((problem) => typeof problem === 'string')
}

/** Codes that stand for a defect: the service of the soak is slow and fails, and never lies. */
const UNEXPECTED = new Set(['unexpected', 'accounting-broken', 'tenant-mixup', 'list-suddenly-empty'])

/** How a life of a worker went. Times in Unix milliseconds. */
export type Lived = {
  name: string
  startedAtMs: number
  endedAtMs: number | undefined
  endsAs: 'killed' | 'stopped' | undefined
  wouldNotStop: boolean
  hasStarted: boolean
  exitCode: number | null
}

/**
 * Workers that ended by themselves, although they were running or nothing kept them from starting, and workers that did not stop as
 * asked.
 */
export function oddEnds(lives: readonly Lived[], troubles: readonly { fromMs: number; toMs: number }[]): string[] {
  return lives.flatMap((life) => {
    const { name, startedAtMs, endedAtMs, endsAs, wouldNotStop, hasStarted, exitCode } = life
    if (wouldNotStop) return [`${name} did not stop within a minute`]
    if (endedAtMs === undefined) return [`${name} still runs`]
    if (endsAs === 'stopped' && hasStarted && exitCode !== 143)
      return [`${name} was stopped in good order and ended with ${exitCode}, not 143`]
    if (endsAs !== undefined) return []
    const isExcused = !hasStarted && troubles.some(({ fromMs, toMs }) => fromMs <= endedAtMs && startedAtMs <= toMs)
    return isExcused ? [] : [`${name} ended by itself with ${exitCode}`]
  })
}

const document = z.object({ data: z.object({ dueAt: z.string() }) })

/** Nights that were reported more than once as if they were several. Repeats have the same id, unless the queue was emptied meanwhile. */
export function reportsOfNights(reports: readonly Report[], forgotten: number): string[] {
  if (reports.length === 0) return ['no night was reported']
  const nights = Map.groupBy(reports, ({ body }) => document.parse(JSON.parse(body)).data.dueAt)
  return [...nights].flatMap(([dueAt, each]) => {
    const ids = new Set(each.map(({ id }) => id)).size
    return ids <= 1 + forgotten ? [] : [`the night of ${dueAt} was reported under ${ids} ids`]
  })
}

/** A text that was written somewhere, with the name of the place. */
export type Written = { place: string; text: string }

/** Places that hold personal data of a customer, a key or a secret. What was found there is not repeated. */
export function personalData(written: readonly Written[]): string[] {
  return written.flatMap(({ place, text }) =>
    PATTERNS.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${place} holds ${what}`),
  )
}

/** Those that src/service makes up. */
const FAMILY_NAMES =
  /Bogusworth|Demowski|Dummington|Examplez|Fakenham|O'Fixture|Fictivesson|Loremipsum|Mockinghausen|Nonesuch|Placeholderova|Pretendini|Samplesen|Specimenko|Stubbingford|Testdottir/i

const PATTERNS = [
  ['an e-mail address of a customer', /[\w.'’-]+@example\.com/],
  ['a phone number of a customer', /\+1-\d{3}-555-01\d\d/],
  ['a name of a customer', FAMILY_NAMES],
  ['an API key', /soak_key_/],
  ['a secret', /soak_secret_/],
] as const

/** Lines of a worker's log that it must not write. */
export function alarms({ place, text }: Written): string[] {
  return text
    .split('\n')
    .filter((line) => ALARMS.some((alarm) => alarm.test(line)))
    .map((line) => `${place}: ${line.slice(0, 300)}`)
}

/** Also what Node prints of an error that nothing handles. */
const ALARMS = [/run failed unexpectedly/, /worker ended unexpectedly/, /"code":"unexpected"/, /^\s+at .*:\d+:\d+\)?$/]

/** Looks at the soak again and again, and knows for how long all that a run needs was there. */
export type Health = { wellFor: WellFor; stop: () => void }

type Look = { atMs: number; wellMs: number }

/** A look counts for at most twice the time between two: where the machine is too busy to look, nothing is expected of workers either. */
export function watchHealth(isWell: () => boolean, now: () => number): Health {
  const looks: Look[] = [{ atMs: now(), wellMs: 0 }]
  const timer = setInterval(() => {
    const atMs = now()
    const since = atMs - (looks.at(-1)?.atMs ?? atMs)
    looks.push({ atMs, wellMs: isWell() ? Math.min(since, 2 * LOOK_MS) : 0 })
  }, LOOK_MS).unref()
  return {
    wellFor: (fromMs, toMs) =>
      looks.filter(({ atMs }) => fromMs < atMs && atMs <= toMs).reduce((sum, { wellMs }) => sum + wellMs, 0),
    stop: () => clearInterval(timer),
  }
}

const LOOK_MS = 250
