import { configOption, duration, linesOf, moment, say, show, type Table, withConfig } from './output/print.ts'
import { durationArgument, type Io, jsonCommand, MIRROR } from './command.ts'
import { clocks, fileToRead, namedFile, withMirror } from './opening.ts'
import { Option } from '@commander-js/extra-typings'
import { isSharedQueue } from '../address/mirror-address.ts'
import { requireKnown } from '../config/suggestion.ts'
import { atPlace } from '../copies/copy-error.ts'
import { requireTextPlace } from '../copies/target-place.ts'
import { writeTextFile } from '../copies/written-file.ts'
import { factsOfCode, isErrorCode, isForGood } from '../errors/error-facts.ts'
import { UsageError } from '../errors/errors.ts'
import type { Freshness } from '../model/mirror.ts'
import { type Pause, pauseOf, type Pauses } from '../model/pause.ts'
import { type Figures, readFigures } from '../report/figures.ts'
import { readOverview } from '../status/overview.ts'
import { listedNames } from '../text/wording.ts'
import { isoOf, isoTime, LARGEST_STEP_MS } from '../time/moments.ts'
import { fixFor, groupTitle, leftBehindText } from './output/run-words.ts'

export function statusCommand(io: Io) {
  return jsonCommand('status', {
    about:
      "While removals are held back, status ends with 3. 'customer-mirror removals show' lists their customers, to approve or discard. So it does where the fields of many customers have changed (shape-changed): 'customer-mirror accept' takes them as they come.",
    status: 'what needs you, then how current each organization is',
    'status --max-age 26h --json': 'for a monitor: ends with 3 when a night was missed',
    'status --max-age 8d --proven': 'ends with 3 when no scan was proven or settled for eight days',
    'status --html status.html': 'a page to look at in a browser: one file, with nothing to load',
    'status --format prometheus --output customer-mirror.prom': 'for the textfile collector of node_exporter',
  })
    .addOption(new Option('--html <file>', 'write a page to look at; - prints it').conflicts(['json', 'format']))
    .addOption(new Option('--format <form>', 'print metrics').choices(['prometheus'] as const).conflicts('json'))
    .option('-o, --output <file>', 'with --format: write a file that replaces the one before')
    .option('--max-age <time>', 'end with 3 if the last reading of any organization is older: 90m, 26h, 2d', AGE)
    .option('--proven', 'with --max-age: check the last proven or settled scan instead of the last reading')
    .action(async ({ config, maxAge, proven, json, html, format, output }) => {
      if (output !== undefined && format === undefined)
        throw new UsageError('--output goes with --format prometheus. Others: status --json > FILE, status --html FILE')
      if (proven && maxAge === undefined)
        throw new UsageError('--proven changes what --max-age checks. Use both: status --max-age 26h --proven')
      await withMirror({ config }, async (mirror, known) => {
        // Only a shared queue is asked, and what asks it is loaded only then.
        const pauses = isSharedQueue(known.queue)
          ? await (await import('../../jobs/pauses.ts')).readSharedPauses(known, (text) => say(io.stderr, text))
          : undefined
        const standing = { pauses, ...clocks() }
        const asked = { ...standing, maxAgeMs: maxAge, proven }
        const killed = await mirror.listKilled(standing)
        const listed = (await mirror.listFreshness()).map((each) =>
          killed.includes(each.lastRunId) ? ended(each) : each,
        )
        const freshness = new Map(listed.map((each) => [each.organization, each]))
        const lines = known.organizations.map(({ id }) => lineOf(id, freshness.get(id), asked))
        for (const { id } of known.organizations) freshness.delete(id)
        const place = { mirror: mirror.file, configuration: known.file }
        if (html !== undefined) {
          const { overviewPage } = await import('../status/overview-page.ts')
          const { overviewFacts } = await import('../../jobs/monitoring/metrics.ts')
          const overview = await readOverview(mirror, overviewFacts(known.organizations, standing))
          writeWhole(io, html, await overviewPage(overview), 0o600, place)
        } else if (format !== undefined) {
          const { overviewFacts, statusMetrics } = await import('../../jobs/monitoring/metrics.ts')
          const metrics = await statusMetrics(mirror, overviewFacts(known.organizations, standing))
          // Another user may read metrics, since node_exporter is one.
          writeWhole(io, output ?? '-', metrics, 0o644, place)
        } else {
          if (!json) say(io.stdout, problemBlocks(lines, config))
          const text = pausedLines(lines, config) + leftBehindText([...freshness.values()], config)
          show(io, json, { document: { organizations: lines.map(asJson) }, table: asTable(lines, proven), text })
        }
        const isWaiting = (line: StatusLine) => (line.freshness?.held ?? 0) > 0 || line.why.includes('shape-changed')
        if (lines.some((line) => line.tooOld || isWaiting(line))) io.exitWith(3)
      })
    })
}

const AGE = durationArgument({ most: '36500d', examples: '90m, 26h or 2d' })

/** Writes a text to standard output, which `-` names, or as a whole file in place of the one from before. Throws UsageError and CopyFailed. */
function writeWhole(io: Io, file: string, text: string, mode: number, { mirror, configuration }: Beside): void {
  if (file === '-') return void io.stdout.write(text)
  const place = namedFile(file, 'file')
  atPlace(place, () => {
    requireTextPlace(place, mirror, configuration)
    writeTextFile(place, text, { mode })
  })
}

/** Files that are not to be written over. */
type Beside = { mirror: string; configuration: string | undefined }

/** One whose last run was killed. */
function ended(each: Freshness): Freshness {
  const status = 'interrupted'
  const { lastPartial, readReasons } = each
  if (lastPartial?.runId === each.lastRunId)
    return { ...each, lastStatus: status, lastPartial: { ...lastPartial, status } }
  return { ...each, lastStatus: status, lastFullStatus: status, why: [...new Set([status, ...readReasons])] }
}

type StatusLine = ReturnType<typeof lineOf>

/** How old an organization may be, and by which of its dates: the last reading, or the last proof. */
type Asked = { pauses: Pauses | undefined; nowMs: number; maxAgeMs: number | undefined; proven: true | undefined }

function lineOf(organization: string, freshness: Freshness | undefined, { pauses, nowMs, maxAgeMs, proven }: Asked) {
  const ageOf = (asOfMs: number | undefined) => (asOfMs === undefined ? undefined : nowMs - asOfMs)
  // One that was never mirrored is too old, and so is a date in the future, which comes from a wrong clock.
  const isTooOld = (ageMs = Infinity) => maxAgeMs !== undefined && (ageMs > maxAgeMs || isInFuture(ageMs))
  const { readAsOfMs, provenAsOfMs, firstRunAtMs, retiredAtMs, lastFullStatus, why = [], held = 0 } = freshness ?? {}
  const [readAgeMs, provenAgeMs] = [ageOf(readAsOfMs), ageOf(provenAsOfMs)]
  // A list that was never read to its end is as old as its first full run, between the attempts too, unless the last one failed for good.
  const isLoading = readAsOfMs === undefined && lastFullStatus !== undefined && !why.some(isForGood)
  const loadingMs = isLoading ? ageOf(firstRunAtMs) : undefined
  const readTooOld = isTooOld(readAgeMs ?? loadingMs)
  const tooOld = proven ? isTooOld(provenAgeMs ?? loadingMs) : readTooOld
  const paused = pauses && pauseOf(pauses, organization, nowMs)
  const stated = [
    lastFullStatus === 'running' && (tooOld || readAgeMs === undefined) && 'running',
    (isInFuture(readAgeMs) || isInFuture(provenAgeMs)) && 'future-date',
    readTooOld && !isInFuture(readAgeMs) && lastFullStatus === 'complete' && 'no-run-since',
    ...why,
    held > 0 && `held ${held}`,
  ]
  // One that is configured again is retired until its next run ends that.
  const codes = retiredAtMs === undefined ? (lastFullStatus === undefined ? ['never-mirrored'] : stated) : ['retired']
  /** Short codes of why it is not proven, not fresh, or waits for a decision. */
  const all = [paused !== undefined && 'paused', ...codes].filter((code) => code !== false)
  return { organization, freshness, readAgeMs, provenAgeMs, tooOld, why: all, paused }
}

/** Whether a date of this age is further ahead than clocks that are nearly right. */
const isInFuture = (ageMs = 0) => ageMs < -LARGEST_STEP_MS

function asJson({ organization, freshness, readAgeMs, provenAgeMs, tooOld, why, paused }: StatusLine) {
  const { readAsOfMs, provenAsOfMs, proof, lastRunId, lastStatus, lastPartial } = freshness ?? {}
  const { runId: run, startedAtMs, ...quick } = lastPartial ?? {}
  return {
    ...{ organization, readAsOf: isoTime(readAsOfMs), readAgeSeconds: readAgeMs && Math.round(readAgeMs / 1000) },
    ...{ provenAsOf: isoTime(provenAsOfMs), provenAgeSeconds: provenAgeMs && Math.round(provenAgeMs / 1000) },
    ...{ proof, lastRun: lastRunId, lastStatus, ...countsOf(freshness), tooOld, why, paused: pauseAsJson(paused) },
    lastQuick: lastPartial && { run, startedAt: isoTime(startedAtMs), ...quick },
  }
}

/** In the order of the table and of the document. */
function countsOf({ active = 0, missing = 0, removed = 0, held = 0, openRejects = 0 }: Partial<Freshness> = {}) {
  return { active, missing, removed, held, openRejects }
}

/** One line for each organization, those with a problem first. */
function asTable(lines: readonly StatusLine[], proven: true | undefined): Table {
  const age = (ms: number | undefined, isMarked: boolean) => {
    if (isInFuture(ms)) return 'in the future'
    return (ms === undefined ? 'never' : duration(Math.max(0, ms))) + (isMarked ? ' (too old)' : '')
  }
  const isWell = ({ why, tooOld }: StatusLine) =>
    !tooOld && why.every((each) => fixOf(problemOf(each), '') === undefined)
  const head = ['organization', 'read', 'proven', 'proof', 'last run']
  const rows = lines
    .toSorted((left, right) => Number(isWell(left)) - Number(isWell(right)))
    .map(({ organization, freshness, readAgeMs, provenAgeMs, tooOld, why }) => [
      organization,
      age(readAgeMs, tooOld && !proven),
      age(provenAgeMs, tooOld && proven === true),
      freshness?.proof,
      freshness && `#${freshness.lastRunId} ${freshness.lastStatus}`,
      ...Object.values(countsOf(freshness)),
      why.join(', ') || '–',
    ])
  return { head: [...head, 'active', 'missing', 'removed', 'held', 'open rejects', 'why'], rows }
}

/** What a person has to do, once for all organizations with the same problem. Each block ends with an empty line. */
function problemBlocks(lines: readonly StatusLine[], config: string | undefined): string {
  const codesOf = ({ why }: StatusLine) => why.map(problemOf)
  const blocks = [...new Set(lines.flatMap(codesOf))].map((code) => {
    const names = lines.filter((line) => codesOf(line).includes(code)).map(({ organization }) => organization)
    const fix = withConfig(fixOf(code, configOption(config)) ?? '', config)
    const title = isErrorCode(code) ? `${factsOfCode(code).title} (${code})` : code
    return fix !== '' && `✖ ${groupTitle(names, title)}\n  fix: ${fixFor(names, fix)}\n`
  })
  return linesOf(blocks)
}

/** `held 50` and `held 7` are the same problem. */
const problemOf = (why: string) => why.replace(/ \d+$/, '')

/** Undefined for what needs no person, or has its own lines. */
function fixOf(code: string, option: string): string | undefined {
  if (code === 'held') return `customer-mirror removals list${option}`
  if (code === 'shape-changed')
    return `customer-mirror accept <organization>${option}, if the data is right as it comes.`
  if (code === 'future-date') return 'The date lies in the future. Check the clock, then sync again.'
  const { fix } = factsOfCode(code)
  // Such an advice goes with the message of a run.
  return isErrorCode(code) && !/ above\b/.test(fix) ? fix : undefined
}

/** The pause of an organization, or of all but those `resumed`. */
type Paused = { organization: string | undefined; paused: Pause | undefined; resumed?: readonly string[] }

/** A line for each pause, below a table. `config`: the file that the user named. */
export function pausedLines(lines: readonly Paused[], config: string | undefined): string {
  const texts = lines.map(({ organization, paused, resumed = [] }) => {
    if (paused === undefined) return undefined
    const all = resumed.length === 0 ? 'all organizations' : `all organizations but ${listedNames(resumed)}`
    const until = paused.untilMs === undefined ? '' : `, until ${moment(paused.untilMs)}`
    const end = `customer-mirror resume ${organization ?? ''}`.trimEnd() + configOption(config)
    return `${organization ?? all}: paused since ${moment(paused.sinceMs)}${until}: ${end}`
  })
  return linesOf(texts)
}

export function pauseAsJson(paused: Pause | undefined) {
  return paused && { since: isoTime(paused.sinceMs), until: isoTime(paused.untilMs) }
}

export function reportCommand(io: Io) {
  return jsonCommand('report', {
    about: 'No output holds personal data: of companies it has their numbers, and no names.',
    report: 'a line for each organization; new, changed and removed are those of its latest month',
    'report --html report.html': 'a page: growth, changes and removals a month, languages, companies',
    'report --mirror copies/customers.db --html -': 'the page of a published copy; this needs no configuration',
  })
    .addOption(MIRROR)
    .option('--org <organization>', 'the figures of one organization')
    .addOption(new Option('--html <file>', 'write a page, in place of the last one; - prints it').conflicts('json'))
    .action(async ({ org, html, json, ...named }) => {
      const { file: mirror, configuration } = await fileToRead(named)
      const all = await readFigures(mirror)
      const known = all.map(({ organization }) => organization)
      requireKnown(org === undefined ? [] : [org], known)
      const figures = org === undefined ? all : all.filter(({ organization }) => organization === org)
      if (html === undefined) {
        const organizations = figures.map((each) => ({ ...each, readAsOf: each.readAsOf && isoOf(each.readAsOf) }))
        return show(io, json, { document: { organizations }, table: { head: HEAD, rows: figures.map(rowOf) } })
      }
      const { reportPage } = await import('../report/page.ts')
      writeWhole(io, html, await reportPage(figures, Date.now()), 0o600, { mirror, configuration })
    })
}

const HEAD = ['organization', 'customers', '30 days before', 'new', 'changed', 'removed', 'languages', 'companies']

function rowOf({ organization, active, days, months, languages, companies }: Figures) {
  const { added = 0, changed = 0, removed = 0 } = months.at(-1) ?? {}
  const before = days.at(-31)?.active
  const sizes = companies?.reduce((sum, { count }) => sum + count, 0)
  const spoken = languages.slice(0, 3).map(({ name, count }) => {
    return `${name.slice(0, 12) || 'none'} ${Math.round((100 * count) / active)} %`
  })
  return [organization, active, before, added, changed, removed, spoken.join(', '), sizes]
}
