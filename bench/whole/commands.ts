import { atRest, CHANGED, edition, firstLoad, type Group, type Member } from '../members.ts'
import type { Dataset } from '../messages.ts'

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
export function wholeCommands(dataset: Dataset): Group {
  return {
    name: 'whole',
    about: `${dataset.customers.toLocaleString('en')} customers, whole commands, no latency`,
    members: NIGHTS.flatMap((night) => programsOf(night, dataset)),
    runsInBrief: 1,
  }
}

/** So few customers that a command does little else than start. */
export function syncsOfFew(): Group {
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
