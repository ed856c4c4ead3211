import { list, megabytes, number, percent, table } from '../markdown.ts'
import type { Measurement } from '../messages.ts'
import type { Figures, Storage } from './figures.ts'

/** The plan that the page works out. */
const ORGANIZATIONS = 1000
const CUSTOMERS = 100_000
const HOURS = 6
const REQUESTS_PER_MINUTE = 60
const AT_ONCE = 64

/** The page on a thousand organizations: what was measured of one, and what follows for all of them, marked as such. */
export function scalePage(figures: Figures): string {
  const requests = figures.sqlite.nights.rest.requests ?? 0
  const minutes = requests / REQUESTS_PER_MINUTE
  return `${[
    introduction(figures),
    list(Object.entries(figures.machine).map(([name, value]) => `${name}: ${value}`)),
    '## How many at once',
    howMany(requests, minutes),
    '## What one organization takes (measured)',
    measuredTable(figures),
    '## What a night of all of them takes (worked out)',
    nightTable(figures),
    memory(figures),
    '## Storage',
    storage(figures),
    AFTERWARDS,
  ].join('\n\n')}\n`
}

function introduction({ customers, postgres }: Figures): string {
  return `# A thousand organizations

Written by \`npm run bench -- --scale\` from \`bench/scale/measured.json\`; do not edit. The plan: ${number(ORGANIZATIONS)} organizations of
${number(CUSTOMERS)} customers each, every night within ${HOURS} hours, at ${REQUESTS_PER_MINUTE} requests a minute each. One organization of
${number(customers)} was **measured**, in a SQLite file and in PostgreSQL ${postgres.version}, with fifty requests a second, so that each page
is saved alone, as at the real limit. What stands under "worked out" **multiplies that and was not measured**. Measured on:`
}

function howMany(requests: number, minutes: number): string {
  const needed = neededAtOnce(minutes)
  const carried = Math.floor((AT_ONCE * HOURS * 60) / minutes)
  return `A proven scan of ${number(CUSTOMERS)} customers took ${number(requests)} requests, which is ${minutes.toFixed(1)} minutes at ${REQUESTS_PER_MINUTE} a minute, whatever the machine.
${number(ORGANIZATIONS)} × ${minutes.toFixed(1)} minutes / ${HOURS * 60} minutes = **${needed} organizations at once**. One process takes them with \`jobs: { concurrency: ${AT_ONCE} }\`:
in ${HOURS} hours it could read ${number(carried)} of them. It sends ${number((needed * REQUESTS_PER_MINUTE) / 60)} requests a second then. All may be due
at the same moment: jobs wait in the queue for their turn.`
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
  const of = (night: 'rest' | 'changed'): string[][] => {
    const file = sqlite.nights[night]
    const { program, server } = postgres.nights[night]
    const name = night === 'rest' ? 'at rest' : '1 % changed'
    return [
      [`CPU of the process, SQLite, ${name}`, `${share(file.cpuMs ?? 0)} of one core`],
      [`CPU of the process, PostgreSQL, ${name}`, `${share(program.cpuMs ?? 0)} of one core`],
      [`CPU of the server, ${name}`, `${share(server.cpuMs)} of one core`],
      [`written to the SQLite file, ${name}`, gigabytes(file.writtenBytes ?? 0)],
      [`WAL of PostgreSQL, ${name}`, gigabytes(server.walBytes)],
      [`between process and server, ${name}`, gigabytes(server.networkBytes)],
      [`transactions a second, ${name}`, ((server.transactions * all) / (HOURS * 3600)).toFixed(1)],
    ]
  }
  const downloads = (sqlite.nights.rest.requests ?? 0) * pageBytes
  const rate = (downloads * all * 8) / (HOURS * 3600) / 1e6
  return table([
    ['', 'a night'],
    ['downloaded from the services, uncompressed', `${gigabytes(downloads)}, ${rate.toFixed(0)} Mbit/s`],
    ...of('rest'),
    ...of('changed'),
  ])
}

function memory({ sqlite, atOnce, postgres }: Figures): string {
  const one = sqlite.nights.rest.peakRssBytes ?? 0
  const each = ((atOnce.rest.peakRssBytes ?? 0) - one) / (atOnce.organizations - 1)
  const most = one + (AT_ONCE - 1) * each
  const { mostConnections } = postgres.nights.rest.server
  return `Memory: one organization at rest took ${megabytes(one)} MB (measured), ${atOnce.organizations} at the same time ${megabytes(atOnce.rest.peakRssBytes ?? 0)} MB (measured), so each more
takes about ${megabytes(each)} MB: the list as last read, and what is in transit, which has one limit for the process. ${AT_ONCE} at once then take about
**${number(most / 1024 ** 2)} MB** (worked out). The queue, and its client, come on top. Connections of one run to PostgreSQL: ${mostConnections} at most (measured). \`npm run bench -- --only organizations\`
measures ${number(ORGANIZATIONS)} small organizations, ${AT_ONCE} at once in one process, and judges the peak of memory and the longest turn of the event loop.`
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

For ${number(ORGANIZATIONS * CUSTOMERS)} customers that is ${gigabytes(file)} in SQLite and ${gigabytes(server)} in PostgreSQL (worked out). History grows with what changes: \`retention\`
bounds it. The names of this list are made up and short; measure one organization of yours.`
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

const AFTERWARDS = `## What breaks next, and what to do then

None of this was tried at this size; each step is for when a figure above says so.

1. **A night does not end in time.** More requests a minute, or more organizations at once: a higher \`jobs.concurrency\`, then a second
   worker. On PostgreSQL it may be on another machine; on SQLite it must be beside the file. One organization never needs more than
   one process: its limit of requests is what it waits for.
2. **The process runs out of memory or of its core.** Each run keeps the list as last read in memory. Several workers with
   \`concurrency: 16\` spread them over cores and machines. On SQLite they take turns to write the same file.
3. **One SQLite file is too large** to back up or to publish in a night. Move it to PostgreSQL, or split it by organization: each
   machine has a configuration, a file and a queue (or a \`?prefix=\` of its own) and knows nothing of the others.
4. **Readers disturb the runs on PostgreSQL.** Let them read a streaming replica: the tables are the same there, and \`updated_at\` and
   \`changes.seq\` miss nothing, as they come in the order of commits. Tried with 300 customers (\`npm run test:deep\`): a hot standby made
   by \`pg_basebackup\` answers \`status\`, \`sql\` and \`export\` as the primary server does, and refuses \`sync\`. Or \`publish s3://…\`: one
   Parquet file an organization.
5. **Tables are too large to vacuum or to index in a night.** Every key begins with \`organization\`, so \`customers\` can be partitioned by
   \`HASH (organization)\`; every statement of a run names the organization, and reads and writes one partition.
6. **One PostgreSQL server is not enough.** The same key distributes the tables over a Citus cluster. All transactions that write rows
   which readers see take one lock (\`last_update\`) for the order of \`updated_at\`: on a night at rest none does, in initial syncs of many
   organizations at once it is what they wait for. Then several mirrors, each with some of the organizations, are simpler: nothing in a run
   needs two organizations. Two things are lost: that an organization was given the key of another (\`tenant-mixup\`) is noticed only
   within one mirror, and a query over all of them needs a place where they come together, such as the Parquet files of \`publish\`.`
