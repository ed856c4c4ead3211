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
  /** Whether it starts with an empty file, or with the one its own program left behind the night before. */
  start: 'empty' | 'yesterday'
  /** Runs its own program made before, when it starts with the file of the night before. */
  nightsBefore?: number
  /** The member whose requests it repeats, for a floor. */
  repeats?: string
  /** What it is compared with; several together are one floor, their sum. */
  floors: readonly (readonly string[])[]
  /** Counts to be seen in its result, as shares of the customers: that what is measured is what its name says. */
  expect?: Readonly<Record<string, readonly [from: number, to: number]>>
  /** Once before the first round, unmeasured: the service compresses each page once. */
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
}

/** What a machine may lack. */
export type Requirement = 'Python' | 'Node 20' | 'PostgreSQL'

const BASE: Answering = { latencyMs: 0, gzip: false, edition: 'base' }

/** A member that counts what became of the customers. */
type Counted = Member & Required<Pick<Member, 'expect'>>

/** What must have become of the customers in each night, as shares. */
const AT_REST = { unchanged: [1, 1] } as const
const LOADED = { inserted: [1, 1] } as const
export const CHANGED = { updated: [0.002, 0.03], unchanged: [0.97, 0.998] } as const
export const GONE = { missing: [0.002, 0.03], unchanged: [0.97, 0.998] } as const
export const NEW = { inserted: [0.009, 0.011], unchanged: [1, 1] } as const

/** Answers at once, with another edition of the list. */
export function edition(name: Answering['edition']): Answering {
  return { ...BASE, edition: name }
}

export function atRest(name: string, dataset: Dataset, floors: Member['floors'] = []): Counted {
  return { ...memberOf(name, dataset), start: 'yesterday', floors, expect: AT_REST }
}

export function firstLoad(name: string, dataset: Dataset, floors: Member['floors'] = []): Counted {
  return { ...memberOf(name, dataset), start: 'empty', floors, expect: LOADED }
}

/** What all members of a dataset have in common, where nothing else is said. */
export function memberOf(name: string, dataset: Dataset) {
  return { name, program: 'mirror', dataset, scan: 'chain', answering: BASE } as const
}

export function plainly(member: Member): Member {
  return { ...member, scan: 'plain' }
}

/** The name of a contender's floor. */
export function floorOf(name: string): string {
  return `${name}: its downloads`
}
