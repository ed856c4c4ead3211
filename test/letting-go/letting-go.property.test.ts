import { expect, inject, test } from 'vitest'
import { untruthsOf } from './checks.ts'
import * as m from './model.ts'
import { World } from './model.ts'
import * as command from './moves.ts'
import { aNight } from './moves.ts'
import { dice as diceOf, type Dice } from '../support/dice.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirrorFile, withReader } from '../support/mirror-file.ts'
import { isThere } from '../support/mirror-reader.ts'
import { seeds } from '../support/seeds.ts'

test('whatever is hidden, pruned, forgotten, renamed, retired and restored, the mirror holds what it says', async () => {
  const steps = inject('isDeep') ? 60 : 20
  const first = inject('isDeep') ? Array.from({ length: seeds(20, { least: 1 }) }, (_, index) => index + 1) : []
  for (const seed of [...first, 29])
    expect({ seed, ...(await play(aMirrorFile(), diceOf(seed), steps)) }).toMatchObject({ seed, untruths: [] })
})

/** Plays random commands and nights on a new mirror at `file`. Returns the steps, and the first untruths. */
export async function play(file: string, dice: Dice, length: number): Promise<{ steps: string[]; untruths: string[] }> {
  const it = new World(file, dice)
  for (let step = 0; step < length; step += 1) {
    it.steps.push(await oneStep(it))
    if (!isThere(file)) continue
    const untruths = withReader(file, (db) => untruthsOf(db, it.model))
    if (untruths.length > 0) return { steps: it.steps, untruths }
    it.day += dice.chance(0.2) ? 0.01 : dice.chance(0.1) ? dice.below(30) : 0.4 + dice.next()
  }
  return { steps: it.steps, untruths: [] }
}

async function oneStep(it: World): Promise<string> {
  const { dice } = it
  const name = it.pick([...it.model.keys()])
  if (name === undefined || (it.model.size < 3 && dice.chance(0.1))) return startOrganization(it)
  const kind = dice.below(100)
  if (kind < 50) return aNight(it, name)
  if (kind < 62) return command.forget(it, name)
  if (kind < 65) return command.readmit(it, name)
  if (kind < 73) return command.changePolicy(it, name)
  if (kind < 78) return command.rename(it, name)
  if (kind < 83) return command.retire(it, name)
  if (kind < 86) return command.forgetOrganization(it, name)
  // A mirror in PostgreSQL is backed up by the programs of the server.
  if (onPostgres) return aNight(it, name)
  if (kind < 93) return command.backup(it)
  return command.restoreOne(it)
}

async function startOrganization(it: World): Promise<string> {
  it.services += 1
  const name = `org${it.services}`
  it.model.set(name, { service: m.aService(it.services), held: m.nothingHeld() })
  return aNight(it, name)
}
