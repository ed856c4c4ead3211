import {
  atRest,
  CHANGED,
  edition,
  firstLoad,
  floorOf,
  GONE,
  type Group,
  type Member,
  memberOf,
  NEW,
  plainly,
} from './members.ts'
import type { Dataset } from './messages.ts'

/** As many requests at once, for every member that asks more than one at a time and says nothing else. */
export const CONCURRENCY = 8

/** Organizations that a command or a worker mirrors at the same time, where nothing else is said. */
export const SIDE_BY_SIDE = 8

/** As many as one worker mirrors of a thousand: `jobs.concurrency: 64`. */
const MOST_SIDE_BY_SIDE = 64

/** With 8 at once the requests a proof takes on top keep us below 7.7 times a sequential loop, whatever else we do. */
export const MANY_AT_ONCE = 16

export const AT_REST_MANY_AT_ONCE = `at rest, 20 ms, ${MANY_AT_ONCE} at once`

/** With fewer customers, starting up weighs more than waiting does, and nothing is to be learned from a loop that waits. */
export const LEAST_BESIDE_LOOP = 100_000

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

/** The most customers that one organization has. */
export function mostCustomers({ customers, large }: Sizes): number {
  return Math.max(customers, large?.one.customers ?? 0)
}

/** The groups without their extras, in fewer rounds where they say so, and without those that are nothing else. */
export function briefly(groups: readonly Group[]): Group[] {
  return groups
    .map((group) => ({ ...group, members: group.members.filter(({ extra }) => extra !== true) }))
    .filter(({ members }) => members.length > 0)
}

/** Everything to be measured that needs a service. */
export function groupsOf({ customers, large }: Sizes): Group[] {
  const dataset = { organizations: 1, customers }
  const size = customers.toLocaleString('en')
  return [
    syncsOfFew(),
    wholeCommands(dataset),
    { name: 'night', about: `${size} customers, mirrored before, no latency`, members: nightMembers(dataset) },
    { name: 'load', about: `${size} customers into an empty file, no latency`, members: load(dataset) },
    { name: 'latency', about: `${size} customers, each answer delayed`, members: latency(dataset) },
    { name: 'gzip', about: `${size} customers, compressed answers, no latency`, members: gzip(dataset) },
    { name: 'by-hand', about: `${size} customers: fetch in a loop, one upsert a row`, members: byHandMembers(dataset) },
    besidePostgres(customers),
    ...(large === undefined
      ? []
      : [
          { name: 'million', about: 'a million customers, no latency', members: million(large.one, large.many) },
          organizationsAtOnce(large.most),
        ]),
  ]
}

function nightMembers(dataset: Dataset): Member[] {
  const [rest, restFloor] = withFloor(atRest('at rest', dataset, [['at rest, plain']]))
  return [
    // What is compared runs one behind the other: the machine changes its speed within a round.
    ...[rest, plainly(atRest('at rest, plain', dataset)), restFloor],
    ...withFloor({ ...atRest('the second night', dataset), nightsBefore: 1 }),
    ...withFloor({ ...atRest('1 % changed', dataset), answering: edition('changed'), expect: CHANGED }),
    ...withFloor({ ...atRest('1 % gone', dataset), answering: edition('gone'), expect: GONE }),
    ...withFloor({ ...atRest('1 % new at the top', dataset), answering: edition('new'), expect: NEW }),
  ]
}

function load(dataset: Dataset): Member[] {
  const chain = firstLoad('initial sync', dataset)
  const inserted = insertFloor('rows inserted', dataset)
  return [
    ...withFloor({ ...chain, floors: [[floorOf(chain.name), inserted.name]] }),
    inserted,
    ...extras(withFloor(plainly(firstLoad('initial sync, plain', dataset)))),
  ]
}

function latency(dataset: Dataset): Member[] {
  const delayed = (member: Member, latencyMs: number): Member => ({
    ...member,
    name: `${member.name}, ${latencyMs} ms`,
    answering: { ...member.answering, latencyMs },
  })
  const rest = atRest('at rest', dataset)
  // The plain scan asks for as many pages as a loop does.
  const asMany = delayed(plainly(atRest('at rest, plain', dataset)), 20)
  const manyAtOnce = { ...delayed(rest, 20), name: AT_REST_MANY_AT_ONCE, concurrency: MANY_AT_ONCE }
  const floors = [[manyAtOnce.name], ['at rest, 20 ms'], [asMany.name]]
  const loop = delayed(loopMember('sequential loop at rest', 'yesterday', dataset, floors), 20)
  const besideLoop = [loop, manyAtOnce, asMany]
  const [rest20, rest20Floor] = withFloor(delayed(rest, 20))
  const [load20, load20Floor] = withFloor(delayed(firstLoad('initial sync', dataset), 20))
  return [
    rest20,
    ...extras([rest20Floor]),
    load20,
    ...extras([load20Floor, ...otherPaces(load20)]),
    ...(dataset.customers < LEAST_BESIDE_LOOP ? extras(besideLoop) : besideLoop),
    ...extras(withFloor(delayed(rest, 100))),
  ]
}

/** The same with other numbers of requests at once, to compare them. */
function otherPaces(member: Member): Member[] {
  const paces = [4, MANY_AT_ONCE]
  return paces.map((concurrency) => ({
    ...member,
    name: `${member.name}, ${concurrency} at once`,
    concurrency,
    floors: [[member.name]],
  }))
}

function gzip(dataset: Dataset): Member[] {
  const compressed = (member: Member): Member => ({
    ...member,
    name: `${member.name}, gzip`,
    answering: { ...member.answering, gzip: true },
    warmUp: true,
  })
  return extras([
    ...withFloor(compressed(atRest('at rest', dataset))),
    ...withFloor(compressed(firstLoad('initial sync', dataset))),
  ])
}

function byHandMembers(dataset: Dataset): Member[] {
  return extras([
    ...withFloor(loopMember('loop, at rest', 'yesterday', dataset)),
    ...withFloor(loopMember('loop, initial sync', 'empty', dataset)),
  ])
}

function million(one: Dataset, many: Dataset): Member[] {
  const inserted = insertFloor('rows inserted, one organization', one)
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
  const atOnce = (member: Member): Member => ({ ...member, concurrency: MANY_AT_ONCE, sideBySide: MOST_SIDE_BY_SIDE })
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

function loopMember(name: string, start: Member['start'], dataset: Dataset, floors: Member['floors'] = []): Member {
  return { ...memberOf(name, dataset), program: 'loop', scan: 'plain', start, floors }
}

function insertFloor(name: string, dataset: Dataset): Member {
  return { ...memberOf(name, dataset), program: 'insert', start: 'empty', floors: [] }
}

function extras(members: readonly Member[]): Member[] {
  return members.map((member) => ({ ...member, extra: true }))
}

/** A contender, followed by its floor: the same requests downloaded and parsed, nothing kept. */
function withFloor(member: Member): [Member, Member] {
  const { dataset, scan, answering, name, warmUp, concurrency } = member
  const floor: Member = {
    ...{ name: floorOf(name), dataset, scan, answering, start: 'empty', repeats: name, floors: [] },
    program: 'download',
    ...(warmUp !== undefined && { warmUp }),
    ...(concurrency !== undefined && { concurrency }),
  }
  return [{ ...member, floors: [[floor.name], ...member.floors] }, floor]
}

/** Fewer say nothing about rows: most of the time the program connects, and the server finishes runs. */
const LEAST = 100_000

const AT_ONCE = 8

/** How far the server is in one of them, one way. */
const AWAY_MS = 1

type Kind = 'at rest' | '1 % changed' | 'initial sync' | `${typeof AT_ONCE} organizations at once`

const KINDS: readonly (readonly [kind: Kind, limit: number])[] = [
  ['at rest', 1.2],
  ['1 % changed', 1.6],
  ['initial sync', 1.5],
  [`${AT_ONCE} organizations at once`, 1.1],
]

const sqlite = (kind: Kind) => `${kind}, SQLite`
const postgres = (kind: Kind) => `${kind}, PostgreSQL`
const FAR = `at rest, PostgreSQL over ${2 * AWAY_MS} ms`

/** What a mirror in PostgreSQL may take, as a multiple of what the same takes on SQLite. */
export const BESIDE_POSTGRES = [
  ...KINDS.map(([kind, limit]) => ({ title: `${kind}, PostgreSQL over SQLite`, limit, kind })).map(
    ({ kind, ...rest }) => ({
      ...rest,
      postgres: postgres(kind),
      sqlite: sqlite(kind),
    }),
  ),
  {
    title: `at rest over ${2 * AWAY_MS} ms, PostgreSQL over SQLite`,
    limit: 2.5,
    postgres: FAR,
    sqlite: sqlite('at rest'),
  },
]

/** The same runs on both stores, in turns. */
function besidePostgres(customers: number): Group {
  const one = { organizations: 1, customers }
  const many = { organizations: AT_ONCE, customers: customers / AT_ONCE }
  const members = KINDS.flatMap(([kind]) => onBoth(kind, memberFor(kind, kind.endsWith('at once') ? many : one)))
  const [, near] = members
  const far = near === undefined ? [] : [{ ...near, name: FAR, awayMs: AWAY_MS }]
  return {
    name: 'postgres',
    about: `${customers.toLocaleString('en')} customers into a server on this machine, and into a file`,
    members: [...members.slice(0, 2), ...far, ...members.slice(2)].map((member) => ({
      ...member,
      needs: 'PostgreSQL',
      extra: customers < LEAST,
    })),
    notes: ['CPU and memory are those of the program; the server works beside it'],
  }
}

function memberFor(kind: Kind, dataset: Member['dataset']): Member {
  if (kind === 'at rest') return atRest(kind, dataset)
  if (kind === '1 % changed') return { ...atRest(kind, dataset), answering: edition('changed'), expect: CHANGED }
  return firstLoad(kind, dataset)
}

function onBoth(kind: Kind, member: Member): Member[] {
  return [
    { ...member, name: sqlite(kind) },
    { ...member, name: postgres(kind), store: 'PostgreSQL', floors: [[sqlite(kind)]] },
  ]
}

/**
 * Whole commands, from start to exit, as users run them: `customer-mirror sync` on the Node of the benchmark and, where one
 * is on the PATH, started by Node 20; beside them the best that a good engineer writes in an afternoon, in Python and Node.
 */
export const PROGRAMS = {
  sync: 'sync',
  fromNode20: 'sync, from Node 20',
  python: 'Python by hand',
  node: 'Node by hand',
} as const

/** Each night that whole commands are measured in, under the name that follows a program's. */
export const NIGHTS = ['initial sync', 'second night', 'at rest', '1 % changed'] as const
export type Night = (typeof NIGHTS)[number]

/** The name of a program's night. */
export function wholeName(program: keyof typeof PROGRAMS, night: Night): string {
  return `${PROGRAMS[program]}: ${night}`
}

export const SYNC_OF_40 = 'sync of 40 customers'
export const SYNC_OF_40_FROM_NODE_20 = 'sync of 40 customers, from Node 20'

/** All programs in all nights; those of one night follow each other. */
function wholeCommands(dataset: Dataset): Group {
  return {
    name: 'whole',
    about: `${dataset.customers.toLocaleString('en')} customers, whole commands, no latency`,
    members: NIGHTS.flatMap((night) => programsOf(night, dataset)),
    runsInBrief: 1,
  }
}

/** So few customers that a command does little else than start. */
function syncsOfFew(): Group {
  const start = {
    ...firstLoad(SYNC_OF_40, { organizations: 1, customers: 40 }),
    program: 'sync',
    warmUp: true,
  } as const
  return {
    name: 'startup',
    about: '`customer-mirror sync` of 40 customers into an empty file',
    members: [start, { ...start, name: SYNC_OF_40_FROM_NODE_20, needs: 'Node 20' }],
  }
}

function programsOf(night: Night, dataset: Dataset): Member[] {
  const { expect, ...base } = nightOf(night, dataset)
  const sync = { ...base, program: 'sync', expect } as const
  // Programs by hand count nothing; that they hold the right rows is checked all the same.
  const byHand = { ...base, scan: 'plain' } as const
  const python = wholeName('python', night)
  const floors = [[python], [wholeName('node', night)]]
  return [
    // What was compiled is kept by the first start.
    { ...sync, name: wholeName('sync', night), floors, warmUp: night === 'initial sync' },
    { ...byHand, name: python, program: 'by-hand-python', needs: 'Python' },
    { ...sync, name: wholeName('fromNode20', night), floors: [[python]], needs: 'Node 20' },
    { ...byHand, name: wholeName('node', night), program: 'by-hand-node' },
  ]
}

function nightOf(night: Night, dataset: Dataset) {
  if (night === 'initial sync') return firstLoad(night, dataset)
  const rest = atRest(night, dataset)
  if (night === 'second night') return { ...rest, nightsBefore: 1 }
  return night === 'at rest' ? rest : { ...rest, answering: edition('changed'), expect: CHANGED }
}
