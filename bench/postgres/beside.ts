import { atRest, CHANGED, edition, firstLoad, type Group, type Member } from '../members.ts'

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
export function besidePostgres(customers: number): Group {
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
