import type { Answering, Dataset } from './messages.ts'
import type { ProgramName } from './run-program.ts'

/** What is measured together, in turns. */
export type Group = {
  name: string
  about: string
  members: readonly Member[]
  /** Rounds of a brief benchmark, where it is not as many as those of other groups. */
  runsInBrief?: number
  /** Said below its figures. */
  notes?: readonly string[]
}

/** A contender or a floor. Its name is the same in every size of the benchmark. */
export type Member = {
  name: string
  program: ProgramName
  dataset: Dataset
  scan: 'chain' | 'plain'
  answering: Answering
  /** Requests at once. */
  concurrency?: number
  /** Organizations at once. */
  sideBySide?: number
  /** Whether it starts with an empty file, or with the one of the night before. */
  start: 'empty' | 'yesterday'
  /** The program that made the file of the night before, if it is not its own. */
  madeBy?: ProgramName
  /** Runs that made it. */
  nightsBefore?: number
  /** The member whose requests it repeats, for a floor. */
  repeats?: string
  /** What it is compared with; several together are one floor, their sum. */
  floors: readonly (readonly string[])[]
  /** Counts to be seen in its result, as shares of the customers: that what is measured is what its name says. */
  expect?: Readonly<Record<string, readonly [from: number, to: number]>>
  /** Once before the first round, unmeasured: caches are filled. */
  warmUp?: boolean
  /** Where it keeps its mirror, if not in a file. */
  store?: 'PostgreSQL'
  /** How far its server is, one way in milliseconds. */
  awayMs?: number
  /** Shown in addition; no target depends on it. */
  extra?: boolean
  /** What must be on the machine for it to be measured. */
  needs?: Requirement
  /** The Python that runs it, for one written in it. */
  python?: string
  /** The Node that starts it, where it is not that of the benchmark. */
  node?: string
  /** What was built of it, for one written in Go. */
  built?: string
}

/** What a machine may lack. */
export type Requirement = 'Python' | 'Go' | 'Node 20' | 'PostgreSQL'

/** As many requests at once, for every member that asks more than one at a time and says nothing else. */
export const CONCURRENCY = 8

/** Organizations that a command or a worker mirrors at the same time, where nothing else is said. */
export const SIDE_BY_SIDE = 8

/** As many as one worker mirrors of a thousand: `jobs.concurrency: 64`. */
const MOST_SIDE_BY_SIDE = 64

/** With fewer customers, starting up weighs more than rows or waiting do. */
export const LEAST_TO_COMPARE = 100_000

/** How large everything is. */
export type Sizes = { customers: number; large?: { one: Dataset; many: Dataset; most: Dataset } }

export const FULL: Sizes = {
  customers: 100_000,
  // A list of just 1,000 or 10,000 is not proven at first: services stop counting there.
  large: {
    one: { organizations: 1, customers: 1_000_000 },
    many: { organizations: 100, customers: 10_001 },
    most: { organizations: 1000, customers: 1001 },
  },
}
export const QUICK: Sizes = { customers: 20_000 }

/** The groups without their extras and those that are nothing else, in fewer rounds where they say so. */
export function briefly(groups: readonly Group[]): Group[] {
  return groups
    .map((group) => ({ ...group, members: group.members.filter(({ extra }) => extra !== true) }))
    .filter(({ members }) => members.length > 0)
}

const BASE: Answering = { latencyMs: 0, edition: 'base' }

/** What must have become of the customers in a night with another list, as shares. */
const EDITIONS = {
  changed: { updated: [0.002, 0.03], unchanged: [0.97, 0.998] },
  gone: { missing: [0.002, 0.03], unchanged: [0.97, 0.998] },
  new: { inserted: [0.009, 0.011], unchanged: [1, 1] },
} as const

export function atRest(name: string, dataset: Dataset, floors: Member['floors'] = []): Member {
  return { ...member(name, dataset), start: 'yesterday', floors, expect: { unchanged: [1, 1] } }
}

export function firstLoad(name: string, dataset: Dataset, floors: Member['floors'] = []): Member {
  return { ...member(name, dataset), floors, expect: { inserted: [1, 1] } }
}

/** What all members of a dataset have in common, where nothing else is said. */
function member(name: string, dataset: Dataset): Member {
  return { name, program: 'mirror', dataset, scan: 'chain', answering: BASE, start: 'empty', floors: [] }
}

/** A night in which the list is another one than the night before. */
function otherList(name: string, dataset: Dataset, edition: keyof typeof EDITIONS): Member {
  return { ...atRest(name, dataset), answering: { ...BASE, edition }, expect: EDITIONS[edition] }
}

export function plainly(night: Member): Member {
  return { ...night, scan: 'plain' }
}

/** The name of a contender's floor. */
export function floorOf(name: string): string {
  return `${name}: its downloads`
}

/** A contender, followed by its floor: the same requests downloaded and parsed, nothing kept. */
function withFloor(contender: Member): [Member, Member] {
  const { name, floors, expect: _, ...same } = contender
  const floor: Member = { ...same, name: floorOf(name), program: 'download', start: 'empty', repeats: name, floors: [] }
  return [{ ...contender, floors: [[floor.name], ...floors] }, floor]
}

/** Everything to be measured that needs a service. */
export function groupsOf({ customers, large }: Sizes): Group[] {
  const dataset = { organizations: 1, customers }
  const size = customers.toLocaleString('en')
  return [
    {
      name: 'startup',
      about: `short commands; the mirror of \`status\` holds ${size} customers`,
      members: startup(dataset),
    },
    {
      name: 'whole',
      about: `${size} customers, whole commands, no latency`,
      members: NIGHTS.flatMap((night) => wholeCommands(night, dataset)),
      runsInBrief: 1,
    },
    { name: 'night', about: `${size} customers, mirrored before, no latency`, members: nights(dataset) },
    { name: 'load', about: `${size} customers into an empty file, no latency`, members: load(dataset) },
    { name: 'latency', about: `${size} customers, each answer delayed`, members: latency(dataset) },
    {
      name: 'postgres',
      about: `${size} customers into a server on this machine, and into a file`,
      members: onBothDatabases(customers),
      notes: ['CPU and memory are those of the program; the server works beside it'],
    },
    ...(large === undefined
      ? []
      : [
          { name: 'million', about: 'a million customers, no latency', members: million(large.one, large.many) },
          organizationsAtOnce(large.most),
        ]),
    {
      name: 'exports',
      about: `${(large?.one ?? dataset).customers.toLocaleString('en')} customers, whole commands, into a file`,
      members: exports(large?.one ?? dataset, large === undefined),
    },
  ]
}

export const SYNC_OF_40 = 'sync of 40 customers'
export const SYNC_OF_40_FROM_NODE_20 = 'sync of 40 customers, from Node 20'

/** Short commands beside Node itself doing nothing, and syncs of so few customers that they do little else than start. */
function startup(dataset: Dataset): Member[] {
  const few = { organizations: 1, customers: 40 }
  const sync = { ...firstLoad(SYNC_OF_40, few), program: 'sync', warmUp: true } as const
  const nothing = { ...member('node, nothing to do', few), program: 'nothing', warmUp: true } as const
  const floors = [[nothing.name]]
  return [
    { ...nothing, name: '--help', program: 'help', floors },
    { ...nothing, name: 'status', program: 'status', floors, dataset, start: 'yesterday', madeBy: 'mirror' },
    nothing,
    sync,
    { ...sync, name: SYNC_OF_40_FROM_NODE_20, needs: 'Node 20' },
  ]
}

/**
 * Whole commands, from start to exit, as users run them: `customer-mirror sync` on the Node of the benchmark and, where one
 * is on the PATH, started by Node 20; beside them the best that a good engineer writes in an afternoon, in Python, Node and Go.
 */
export const PROGRAMS = {
  sync: 'sync',
  fromNode20: 'sync, from Node 20',
  python: 'Python by hand',
  node: 'Node by hand',
  go: 'Go by hand',
} as const

/** Each night that whole commands are measured in, under the name that follows a program's. */
export const NIGHTS = ['initial sync', 'second night', 'at rest', '1 % changed'] as const
export type Night = (typeof NIGHTS)[number]

/** The name of a program's night. */
export function wholeName(program: keyof typeof PROGRAMS, night: Night): string {
  return `${PROGRAMS[program]}: ${night}`
}

function wholeCommands(night: Night, dataset: Dataset): Member[] {
  const { expect = {}, ...base } = {
    'initial sync': firstLoad(night, dataset),
    'second night': { ...atRest(night, dataset), nightsBefore: 1 },
    'at rest': atRest(night, dataset),
    '1 % changed': otherList(night, dataset, 'changed'),
  }[night]
  const sync = { ...base, program: 'sync', expect } as const
  // Programs by hand count nothing; that they hold the right rows is checked all the same.
  const byHand = plainly(base)
  const python = wholeName('python', night)
  const floors = [[python], [wholeName('node', night)]]
  return [
    // What was compiled is kept by the first start.
    { ...sync, name: wholeName('sync', night), floors, warmUp: night === 'initial sync' },
    { ...byHand, name: python, program: 'by-hand-python', needs: 'Python' },
    { ...sync, name: wholeName('fromNode20', night), floors: [[python]], needs: 'Node 20' },
    { ...byHand, name: wholeName('node', night), program: 'by-hand-node' },
    // Built from source and a module from the network, which takes a minute: not in a brief benchmark.
    { ...byHand, name: wholeName('go', night), program: 'by-hand-go', needs: 'Go', extra: true },
  ]
}

function nights(dataset: Dataset): Member[] {
  const [rest, restFloor] = withFloor(atRest('at rest', dataset, [['at rest, plain']]))
  return [
    // What is compared runs one behind the other: the machine changes its speed within a round.
    ...[rest, plainly(atRest('at rest, plain', dataset)), restFloor],
    ...withFloor({ ...atRest('the second night', dataset), nightsBefore: 1 }),
    ...withFloor(otherList('1 % changed', dataset, 'changed')),
    ...withFloor(otherList('1 % gone', dataset, 'gone')),
    ...withFloor(otherList('1 % new at the top', dataset, 'new')),
  ]
}

function load(dataset: Dataset): Member[] {
  const inserted: Member = { ...member('rows inserted', dataset), program: 'insert' }
  return [...withFloor(firstLoad('initial sync', dataset, [[floorOf('initial sync'), inserted.name]])), inserted]
}

function latency(dataset: Dataset): Member[] {
  const delayed = (night: Member, latencyMs: number): Member => ({
    ...night,
    name: `${night.name}, ${latencyMs} ms`,
    answering: { ...night.answering, latencyMs },
  })
  return [delayed(atRest('at rest', dataset), 20), delayed(firstLoad('initial sync', dataset), 20)]
}

function million(one: Dataset, many: Dataset): Member[] {
  const inserted: Member = { ...member('rows inserted, one organization', one), program: 'insert' }
  const whole = firstLoad('initial sync, one organization', one)
  return [
    ...withFloor({ ...whole, floors: [[floorOf(whole.name), inserted.name]] }),
    inserted,
    firstLoad('initial sync, a hundred organizations', many, [[whole.name]]),
    ...withFloor(atRest('at rest, one organization', one)),
    atRest('at rest, a hundred organizations', many, [['at rest, one organization']]),
  ]
}

/** The names of the two nights of very many organizations. */
export const MOST_ORGANIZATIONS = {
  load: 'initial sync of 1,000 organizations',
  rest: '1,000 organizations at rest',
} as const

/** What one process does for very many organizations, as many of them at once as asked and each as fast as its service answers. */
function organizationsAtOnce(dataset: Dataset): Group {
  const { organizations, customers } = dataset
  const atOnce = (night: Member): Member => ({ ...night, concurrency: 2 * CONCURRENCY, sideBySide: MOST_SIDE_BY_SIDE })
  return {
    name: 'organizations',
    about: `${organizations.toLocaleString('en')} × ${customers.toLocaleString('en')} customers, ${MOST_SIDE_BY_SIDE} organizations at once in one process, no latency`,
    members: [
      atOnce(firstLoad(MOST_ORGANIZATIONS.load, dataset)),
      atOnce({ ...atRest(MOST_ORGANIZATIONS.rest, dataset), nightsBefore: 1 }),
    ],
    notes: ['The longest turn of the event loop is by the clock; what other programs take of the machine counts.'],
  }
}

/** How far the server is in one of them, one way. */
const AWAY_MS = 1

/** The same runs on both databases, and what one in PostgreSQL may take, as a multiple of what the same takes on SQLite. */
export const ON_BOTH = [
  { kind: 'at rest', limit: 1.2 },
  { kind: 'at rest', limit: 2.5, awayMs: AWAY_MS },
  { kind: '1 % changed', limit: 1.6 },
  { kind: 'initial sync', limit: 1.5 },
  { kind: `${SIDE_BY_SIDE} organizations at once`, limit: 1.1 },
].map(({ kind, limit, awayMs }) => {
  const far = awayMs === undefined ? '' : ` over ${2 * awayMs} ms`
  const [sqlite, postgres] = [`${kind}, SQLite`, `${kind}, PostgreSQL${far}`]
  return { title: `${kind}${far}, PostgreSQL over SQLite`, kind, limit, awayMs, sqlite, postgres }
})

function onBothDatabases(customers: number): Member[] {
  const one = { organizations: 1, customers }
  const night = (kind: string): Member => {
    if (kind === 'at rest') return atRest(kind, one)
    if (kind === '1 % changed') return otherList(kind, one, 'changed')
    if (kind === 'initial sync') return firstLoad(kind, one)
    return firstLoad(kind, { organizations: SIDE_BY_SIDE, customers: customers / SIDE_BY_SIDE })
  }
  return ON_BOTH.flatMap(({ kind, awayMs, sqlite, postgres }): Member[] => {
    const same: Member = { ...night(kind), needs: 'PostgreSQL', extra: customers < LEAST_TO_COMPARE }
    const onServer: Member = { ...same, name: postgres, store: 'PostgreSQL', floors: [[sqlite]] }
    return awayMs === undefined ? [{ ...same, name: sqlite }, onServer] : [{ ...onServer, awayMs }]
  })
}

/** The formats, each with the name of its export. */
export const EXPORTS = { csv: 'export as CSV', jsonl: 'export as JSON lines', parquet: 'export as Parquet' } as const

/** Beside them a script with the CSV and SQLite of Python's standard library. */
function exports(dataset: Dataset, extra: boolean): Member[] {
  const mirrored = { ...member('CSV by hand, in Python', dataset), start: 'yesterday', madeBy: 'mirror' } as const
  const script: Member = { ...mirrored, program: 'export-by-hand', nightsBefore: 1, extra, needs: 'Python' }
  const { needs: _, ...same } = script
  return [
    { ...same, name: EXPORTS.csv, program: 'export-csv', floors: [[script.name]] },
    { ...same, name: EXPORTS.jsonl, program: 'export-jsonl' },
    { ...same, name: EXPORTS.parquet, program: 'export-parquet' },
    script,
  ]
}
