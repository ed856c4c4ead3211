import { countWords, isTerminal, moment, say } from './output/print.ts'
import { argument, CSV, type Io, jsonCommand, MIRROR, momentIn, positive, runNumberIn } from './command.ts'
import { fileToRead, withMirror } from './opening.ts'
import { readCustomers, type SomeRows, type SqlValue } from '../copies/read-rows.ts'
import { writeToStream } from '../copies/write-results.ts'
import { publicColumns } from '../model/public-tables.ts'
import { layoutOf, textOf } from './output/rows.ts'
import { UsageError } from '../errors/errors.ts'
import type { Mirror } from '../store/mirror.ts'
import { toJson } from '../model/report.ts'
import type { Outcome } from '../sync/mirror-organization.ts'
import { parsedJson } from '../text/parsed-json.ts'
import { isoTime } from '../time/moments.ts'

/** What a table has at most, also before the runs of a dry run, and the columns it shows; a document has all of them. */
const ON_A_TABLE = 50
const SHOWN = ['organization', 'id', 'name', 'username', 'email', 'language']

/** The service, too, takes no account of spaces around what is searched for, and of a search for nothing. */
const wanted = (text: string) => text.trim() || undefined

export function queryCommand(io: Io) {
  return jsonCommand('query', {
    about:
      "A table shows a few columns, with control characters written out; the document has all of them. 'customer-mirror export' writes files for other programs.",
    'query --search zoe': 'active customers with "zoe", Zoë too, in their name, username or e-mail address',
    'query --org acme --language fr --json': 'every column of the active customers of acme who speak French',
    'query --include-removed --mirror copies/customers.db': 'customers in a published copy',
  })
    .addOption(MIRROR)
    .option('--org <organization>', 'customers of one organization')
    .option('--search <text>', 'customers with this in their name, username or e-mail address, in any case', wanted)
    .option('--language <language>', 'customers of one language, as sent by the service', wanted)
    .option('--include-removed', 'removed customers too')
    .option('--limit <number>', `how many at most (default: ${ON_A_TABLE} in a table)`, positive)
    .action(async ({ org: organization, search, language, includeRemoved = false, limit, ...named }) => {
      const none = 'No customers found.\n'
      const layout = layoutOf(named, { document: { customers: [] }, none, stdout: io.stdout })
      const isTable = layout.format === 'table'
      const most = limit ?? (isTable ? ON_A_TABLE : undefined)
      const shown = [...SHOWN, ...(includeRemoved ? ['removed_at'] : [])]
      const filter = {
        columns: isTable ? shown : publicColumns('active_customers').map(({ name }) => name),
        ...{ organization, search, language, includeRemoved },
        // One more shows whether there are more.
        limit: most === undefined ? undefined : most + 1,
      }
      const { file, configured } = await fileToRead(named)
      let isMore = false
      const rows = readCustomers(file, filter, { configured, signal: io.signal })
      await writeToStream(io.stdout, textOf(rows, layout, { most, onMore: () => (isMore = true) }), io.signal)
      if (isMore && limit === undefined)
        say(io.stderr, `These are the first ${ON_A_TABLE}. For more of them use --limit, --json or 'export'.\n`)
    })
}

export function diffCommand(io: Io) {
  return jsonCommand('diff', {
    about:
      'Without --since: what the newest run found. The first run of an organization is its beginning: it finds no customer as new.',
    'diff acme': 'who came, left or returned, and which fields changed, from which value to which',
    'diff acme --since 2026-03-01 --csv > changes.csv': 'every change since then: a line for each changed field',
  })
    .argument('<organization>', 'id of the organization')
    .option('--since <run|time>', 'what runs after this one found, or what was written after this time', sinceArgument)
    .addOption(CSV)
    .action((organization, { config: file, since: asked, json, csv }) =>
      withMirror({ config: file, organization }, async (mirror) => {
        const { since, words } = await startOf(mirror, organization, asked)
        const none = `${organization}: no customer came, left, returned or changed since ${words}.\n`
        const [sinceRun, sinceTime] = 'run' in since ? [since.run] : [undefined, isoTime(since.ms)]
        const document = { organization, sinceRun, since: sinceTime, changes: [] }
        const layout = layoutOf({ json, csv }, { document, none, stdout: io.stdout })
        const columns = layout.format === 'table' ? TABLE : COLUMNS
        const seen = { added: 0, removed: 0, returned: 0, changed: 0 }
        const onChange = ({ change }: FoundChange) => void (seen[change] += 1)
        const rows = rowsOf(mirror, [{ organization, since }], { columns, onChange })
        if (!(await writeToStream(io.stdout, textOf(rows, layout), io.signal))) return
        const { added: came, removed: left, ...same } = seen
        const counts = countWords({ came, left, ...same })
        if (layout.format === 'table' && counts.length > 0)
          say(io.stdout, `\n${organization}: ${counts.join(', ')} since ${words}.\n`)
      }),
    )
}

/** Prints what a dry run would have written: the beginning of a table, or the whole document with its reports. */
export async function printRehearsed(mirror: Mirror, outcomes: readonly Outcome[], json: true | undefined, io: Io) {
  const asked = outcomes.map(({ report: { organization } }) => ({ organization, since: { run: 0 } }))
  // A dry run is not stored: its number belongs to another run of the mirror.
  const runs = outcomes.map(({ report }) => ({ ...toJson(report), runId: null }))
  const onOneLine = !isTerminal(io.stdout)
  const layout = layoutOf({ json }, { document: { changes: [], runs }, onOneLine, none: '', stdout: io.stdout })
  const columns = ['organization', ...(json ? CUSTOMER : TABLE)]
  let [isFound, isMore] = [false, false]
  const rows = rowsOf(mirror, asked, { columns, onChange: () => (isFound = true) })
  const most = json ? Infinity : ON_A_TABLE
  // A run that was stopped is reported, too.
  const { signal } = new AbortController()
  await writeToStream(io.stdout, textOf(rows, layout, { most, onMore: () => (isMore = true) }), signal)
  if (isMore) say(io.stdout, `These are the first ${ON_A_TABLE}; --json has all of them.\n`)
  if (isFound && !json) io.stdout.write('\n')
}

const CUSTOMER = ['change', 'id', 'name', 'username', 'email', 'field', 'before', 'after']
const TABLE = CUSTOMER.filter((column) => column !== 'username')
const COLUMNS = ['seq', 'run', 'changed_at', ...CUSTOMER]

type ChangesAsked = Parameters<Mirror['listChanges']>[0]
type FoundChange = Awaited<ReturnType<Mirror['listChanges']>>[number]

/** A row for each changed field of a change, or one for a change of none; some at a time. */
async function* rowsOf(
  mirror: Pick<Mirror, 'listChanges'>,
  asked: readonly Pick<ChangesAsked, 'organization' | 'since'>[],
  { columns, onChange }: { columns: string[]; onChange: (change: FoundChange) => void },
): AsyncGenerator<SomeRows, void> {
  yield { columns, rows: [] }
  for (const { organization, since } of asked)
    for (let afterSeq = 0; ;) {
      const found = await mirror.listChanges({ organization, since, afterSeq, limit: AT_ONCE })
      const rows = found.flatMap((change) => {
        onChange(change)
        const { seq, runId, changedAtMs, change: what, id, name, username, email, fields } = change
        const when = { seq: BigInt(seq), run: BigInt(runId), changed_at: isoTime(changedAtMs) }
        const about = { organization, ...when, change: what, id, name, username, email }
        return changedFields(fields).map((field) => {
          const values: Record<string, SqlValue | undefined> = { ...about, ...field }
          return columns.map((column) => values[column] ?? null)
        })
      })
      yield { columns, rows }
      const last = found.at(-1)
      if (last === undefined || found.length < AT_ONCE) break
      afterSeq = last.seq
    }
}

const AT_ONCE = 500

function changedFields(json: string | undefined) {
  const fields = Object.entries(Object(parsedJson(json ?? '{}')))
  // A mirror that was edited by hand may hold anything.
  const values = fields.map(([field, value]) => ({ field, before: textIn(value, 0), after: textIn(value, 1) }))
  return values.length === 0 ? [{}] : values
}

function textIn(values: unknown, at: number): string | null {
  const value: unknown = Array.isArray(values) ? values[at] : null
  return typeof value === 'string' ? value : null
}

type Since = ChangesAsked['since']

const sinceArgument = argument((text): Since | undefined => {
  const [run, ms] = [runNumberIn(text), momentIn(text)]
  if (run !== undefined) return { run }
  return ms === undefined ? undefined : { ms }
}, 'the number of a run, such as 12, or a time: 2026-03-01, "2026-03-01 14:30"')

/** Where the changes begin, unless it is named after the run before the newest one, and how that is said. */
async function startOf(mirror: Mirror, organization: string, asked?: Since): Promise<{ since: Since; words: string }> {
  if (asked !== undefined && 'ms' in asked) return { since: asked, words: moment(asked.ms) }
  const latest = await mirror.listRuns({ organization, limit: 2 })
  const run = asked === undefined ? latest.at(-1) : await mirror.findRun(asked.run)
  if (asked !== undefined && run?.organization !== organization)
    throw new UsageError(`${organization} has no run ${asked.run}: 'customer-mirror runs ${organization}' lists them.`)
  if (run?.runId === undefined) return { since: { run: 0 }, words: 'it was configured: it was never mirrored' }
  return { since: { run: run.runId }, words: `run ${run.runId} of ${moment(run.startedAtMs)}` }
}
