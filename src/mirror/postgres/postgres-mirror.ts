import type { Organizations } from '../../organizations.ts'
import { endedWell } from '../../report.ts'
import type { Erased, Mirror, Traces } from '../../store.ts'
import { openDatabase } from './opening/database.ts'
import { rareVerbs } from './rare-verbs.ts'
import type * as Rehearsal from './rehearsal.ts'
import { readingIndexes } from './reading/reading-indexes.ts'
import { readingVerbs } from './reading/reading-verbs.ts'
import { runVerbs } from './run/run-verbs.ts'
import { savingVerbs } from './run/saving-verbs.ts'
import type { Database } from './session.ts'

/** Opens the mirror at `address` to write; makes its schema if there is none. */
export async function openMirror(address: string): Promise<Mirror> {
  return mirrorIn(await openDatabase(address, 'write'))
}

/** Opens the mirror at `address` to read. Throws MirrorUnusable `missing` if there is none. */
export async function openMirrorToRead(address: string): Promise<Mirror> {
  return mirrorIn(await openDatabase(address, 'read'))
}

/** As `rehearsal.ts` has it, which is loaded only when it is called. */
export async function rehearseMirror(...asked: Parameters<typeof Rehearsal.rehearseMirror>): Promise<Mirror> {
  return (await import('./rehearsal.ts')).rehearseMirror(...asked)
}

/** The organizations of the mirror at `address`, to change them as a whole. Throws MirrorUnusable `missing` if there is none. */
export async function openOrganizations(address: string): Promise<Organizations> {
  const { organizationsIn } = await import('./organizations/organizations.ts')
  // To read first, since no mirror is made here.
  await (await openDatabase(address, 'read')).close()
  return organizationsIn(await openDatabase(address, 'write'))
}

/** Has the server erase what is left of a forgotten customer; see `erase.ts`. */
export async function eraseTraces(address: string, traces: Traces): Promise<Erased> {
  const erase = await import('./forget/erase.ts')
  const database = await openDatabase(address, 'write')
  try {
    return await erase.eraseTraces(database, traces)
  } finally {
    await database.close()
  }
}

function mirrorIn(database: Database): Mirror {
  const saving = savingVerbs(database)
  const indexForReaders = readingIndexes(database)
  return {
    file: database.address,
    ...runVerbs(database),
    ...saving,
    finishRun: async (run, ending, nowMs) => {
      const report = await saving.finishRun(run, ending, nowMs)
      if (endedWell(ending)) await indexForReaders()
      return report
    },
    ...readingVerbs(database),
    ...rareVerbs(database),
    close: () => database.close(),
  }
}
