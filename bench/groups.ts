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
  plain,
} from './members.ts'
import type { Dataset } from './messages.ts'
import { besidePostgres } from './postgres/beside.ts'
import { syncsOfFew, wholeCommands } from './whole/commands.ts'

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
    { name: 'night', about: `${size} customers, mirrored before, no latency`, members: night(dataset) },
    { name: 'load', about: `${size} customers into an empty file, no latency`, members: load(dataset) },
    { name: 'latency', about: `${size} customers, each answer delayed`, members: latency(dataset) },
    { name: 'gzip', about: `${size} customers, compressed answers, no latency`, members: gzip(dataset) },
    { name: 'by-hand', about: `${size} customers: fetch in a loop, one upsert a row`, members: byHand(dataset) },
    besidePostgres(customers),
    ...(large === undefined
      ? []
      : [
          { name: 'million', about: 'a million customers, no latency', members: million(large.one, large.many) },
          organizationsAtOnce(large.most),
        ]),
  ]
}

function night(dataset: Dataset): Member[] {
  const [rest, restFloor] = withFloor(atRest('at rest', dataset, [['at rest, plain']]))
  return [
    // What is compared runs one behind the other: the machine changes its speed within a round.
    ...[rest, plain(atRest('at rest, plain', dataset)), restFloor],
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
    ...extras(withFloor(plain(firstLoad('initial sync, plain', dataset)))),
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
  const asMany = delayed(plain(atRest('at rest, plain', dataset)), 20)
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

function byHand(dataset: Dataset): Member[] {
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
