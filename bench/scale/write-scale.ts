import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measuredOn, megabytes, number, percent, table, withPart } from '../markdown.ts'
import type { Measurement } from '../messages.ts'
import type { Output } from '../run-bench.ts'
import { startPostgres } from '../postgres-server.ts'
import { type Figures, measureScale, type Storage } from './measure-scale.ts'

const PAGE = fileURLToPath(new URL('../../docs/explain/performance.md', import.meta.url))

const OPTIONS = { size: { type: 'string' }, folder: { type: 'string' } } as const

/**
 * Measures what a thousand organizations are worked out from, on a PostgreSQL that it starts too, and writes its part of the page on
 * performance. Returns the exit code. Throws a UsageError where there is no PostgreSQL.
 */
export async function writeScale(args: readonly string[], { stdout, stderr }: Output): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const customers = Number(values.size ?? 100_000)
  if (!Number.isSafeInteger(customers) || customers < 1) {
    stderr.write('--size must be a whole number from 1 up\n')
    return 2
  }
  const folder = await mkdtemp(join(values.folder ?? tmpdir(), 'customer-mirror-bench-'))
  const server = await startPostgres()
  try {
    const say = (text: string) => void stderr.write(`${text}\n`)
    const figures = await measureScale({ customers, folder, postgres: server.url, say })
    await writeFile(PAGE, withPart(await readFile(PAGE, 'utf8'), 'scale', scalePart(figures)))
    stdout.write(`${PAGE} was written.\n`)
    return 0
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The plan that the page works out. */
const ORGANIZATIONS = 1000
const CUSTOMERS = 100_000
const HOURS = 6
const REQUESTS_PER_MINUTE = 60
const AT_ONCE = 64

/** The part on a thousand organizations: what was measured of one, and what follows for all of them, marked as such. */
export function scalePart(figures: Figures): string {
  const requests = figures.sqlite.nights.rest.requests ?? 0
  const minutes = requests / REQUESTS_PER_MINUTE
  return `${[
    '## A thousand organizations',
    introduction(figures),
    howMany(requests, minutes),
    '### One organization, measured',
    measuredTable(figures),
    '### A night of all of them, worked out',
    nightTable(figures),
    memory(figures),
    storage(figures),
    AFTERWARDS,
  ].join('\n\n')}\n`
}

function introduction({ customers, postgres, machine }: Figures): string {
  return `Written by \`npm run bench -- --scale\`; do not edit. The plan: ${number(ORGANIZATIONS)} organizations of
${number(CUSTOMERS)} customers, every night within ${HOURS} hours, at ${REQUESTS_PER_MINUTE} requests a minute each. One organization of ${number(customers)} was
**measured**, in a SQLite file and in PostgreSQL ${postgres.version}, with fifty requests a second, so that each page is saved alone, as at
the real limit. What is worked out **multiplies that and was not measured**. ${measuredOn(machine)}`
}

function howMany(requests: number, minutes: number): string {
  const needed = neededAtOnce(minutes)
  const carried = Math.floor((AT_ONCE * HOURS * 60) / minutes)
  return `A proven scan of ${number(CUSTOMERS)} customers took ${number(requests)} requests, which is ${minutes.toFixed(1)} minutes at this limit, whatever the machine. So
**${needed} organizations at once** are needed, and ${number((needed * REQUESTS_PER_MINUTE) / 60)} requests a second. One process takes them with \`jobs: { concurrency: ${AT_ONCE} }\`:
it could read ${number(carried)} in ${HOURS} hours. All may be due at the same moment: jobs wait in the queue for their turn.`
}

function neededAtOnce(minutes: number): number {
  return Math.ceil((ORGANIZATIONS * minutes) / (HOURS * 60))
}

function measuredTable({ sqlite, postgres }: Figures): string {
  const row = (name: string, { cpuMs = 0, writtenBytes = 0, peakRssBytes = 0 }: Measurement) => [
    name,
    `${seconds(cpuMs)} s`,
    `${megabytes(peakRssBytes)} MB`,
    `${megabytes(writtenBytes)} MB`,
  ]
  const nights = NIGHTS.flatMap(([night, name]) => {
    const { program, server } = postgres.nights[night]
    const beside = [server.cpuMs / 1000, server.walBytes / 1024 ** 2, server.networkBytes / 1024 ** 2]
    return [
      [...row(`${name}, SQLite`, sqlite.nights[night]), '–', '–', '–', '–'],
      [...row(`${name}, PostgreSQL`, program), ...toTwoPlaces(beside), number(server.transactions)],
    ]
  })
  const head = [
    'CPU',
    'peak memory',
    'written by the program',
    'CPU s of the server',
    'WAL MB',
    'to and from it MB',
    'transactions',
  ]
  return table([['', ...head], ...nights])
}

const NIGHTS = [
  ['load', 'initial sync'],
  ['rest', 'at rest'],
  ['changed', '1 % changed'],
] as const

function nightTable({ customers, sqlite, postgres, pageBytes }: Figures): string {
  const all = (ORGANIZATIONS * CUSTOMERS) / customers
  const share = (cpuMs: number) => percent((cpuMs * all) / (HOURS * 3_600_000))
  const gigabytes = (bytes: number) => `${((bytes * all) / 1024 ** 3).toFixed(1)} GB`
  const row = (name: string, of: (night: 'rest' | 'changed') => string) => [name, of('rest'), of('changed')]
  const file = (night: 'rest' | 'changed') => sqlite.nights[night]
  const server = (night: 'rest' | 'changed') => postgres.nights[night].server
  const downloads = (night: 'rest' | 'changed') => (file(night).requests ?? 0) * pageBytes
  return table([
    ['', 'at rest', '1 % changed'],
    row('downloaded from the services, uncompressed', (night) => gigabytes(downloads(night))),
    row('CPU of the process, SQLite, of one core', (night) => share(file(night).cpuMs ?? 0)),
    row('CPU of the process, PostgreSQL', (night) => share(postgres.nights[night].program.cpuMs ?? 0)),
    row('CPU of the server', (night) => share(server(night).cpuMs)),
    row('written to the SQLite file', (night) => gigabytes(file(night).writtenBytes ?? 0)),
    row('WAL of PostgreSQL', (night) => gigabytes(server(night).walBytes)),
    row('between process and server', (night) => gigabytes(server(night).networkBytes)),
    row('transactions a second', (night) => ((server(night).transactions * all) / (HOURS * 3600)).toFixed(1)),
  ])
}

function memory({ sqlite, atOnce, postgres }: Figures): string {
  const one = sqlite.nights.rest.peakRssBytes ?? 0
  const each = ((atOnce.rest.peakRssBytes ?? 0) - one) / (atOnce.organizations - 1)
  const most = one + (AT_ONCE - 1) * each
  const { mostConnections } = postgres.nights.rest.server
  return `Memory: one organization at rest took ${megabytes(one)} MB, and ${atOnce.organizations} at the same time ${megabytes(atOnce.rest.peakRssBytes ?? 0)} MB (measured), so each more takes about
${megabytes(each)} MB. ${AT_ONCE} at once then take about **${number(most / 1024 ** 2)} MB** (worked out), the client of the queue aside. One run took ${mostConnections} connection to PostgreSQL
at most (measured).`
}

function storage({ customers, sqlite, postgres }: Figures): string {
  const groups = [
    ['customers, with their indexes', /^customers$/],
    ['the list as last read', /^list/],
    ['changes', /^changes$/],
    ['everything else', /./],
  ] as const
  const rows = groups.map(([name, pattern], place) => {
    const earlier = groups.slice(0, place).map(([, other]) => other)
    const sum = (sizes: Storage) =>
      Object.entries(sizes)
        .filter(([each]) => pattern.test(each) && !earlier.some((other) => other.test(each)))
        .reduce((bytes, [, size]) => bytes + size, 0)
    return [name, ...[sqlite.storage, postgres.storage].map((sizes) => `${(sum(sizes) / customers).toFixed(0)} B`)]
  })
  const [file, server] = [sqlite.storage, postgres.storage].map((sizes) => total(sizes) / customers)
  const gigabytes = (bytes = 0) => `${((bytes * ORGANIZATIONS * CUSTOMERS) / 1024 ** 3).toFixed(0)} GB`
  return `${table([['a customer (measured, after four nights)', 'SQLite', 'PostgreSQL'], ...rows, ['together', `${file?.toFixed(0)} B`, `${server?.toFixed(0)} B`]])}

For ${number(ORGANIZATIONS * CUSTOMERS)} customers that is ${gigabytes(file)} in SQLite and ${gigabytes(server)} in PostgreSQL (worked out), and history comes on top. The names of this
list are made up and short; measure one organization of yours.`
}

function total(sizes: Storage): number {
  return Object.values(sizes).reduce((sum, size) => sum + size, 0)
}

function toTwoPlaces(values: readonly number[]): string[] {
  return values.map((value) => value.toFixed(value < 10 ? 2 : 0))
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2)
}

const AFTERWARDS = `### What breaks next, and what to do then

None of this was tried at this size; each step is for when a figure above says so.

1. **A night does not end in time.** A higher \`jobs.concurrency\`, then a second worker: on PostgreSQL it may be on another machine.
2. **The process runs out of memory or of its core.** Each run keeps the list as last read in memory. Several workers with
   \`concurrency: 16\` spread them over cores and machines. On SQLite they take turns to write the same file.
3. **One SQLite file is too large** to back up or to publish in a night. Move it to PostgreSQL, or split it by organization: each
   machine has a configuration, a file and a queue (or a \`?prefix=\`) of its own. No run needs two organizations. Two things are lost:
   that an organization was given the key of another (\`tenant-mixup\`) is noticed only within one mirror, and a query over all of them
   needs a place where they come together, such as the Parquet files of \`publish\`.
4. **Readers disturb the runs on PostgreSQL.** Let them read a streaming replica: \`updated_at\` and \`changes.seq\` miss nothing there.
   Tried with 300 customers (\`npm run test:deep\`): a hot standby answers \`status\`, \`sql\` and \`export\`, and refuses \`sync\`.
5. **Tables are too large to vacuum or to index in a night.** Partition \`customers\` by \`HASH (organization)\`: every key begins with it,
   and every statement of a run names one organization.
6. **One PostgreSQL server is not enough.** The same key distributes the tables over a Citus cluster. All transactions that write rows
   which readers see take one lock (\`last_update\`): in initial syncs of many organizations at once they wait for it. Several mirrors,
   each with some of the organizations, are simpler.`
