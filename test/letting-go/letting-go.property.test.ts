import { expect, inject, test } from 'vitest'
import { aFollower, follow, isTooOld, numbersIn, untruthsOf } from './checks.ts'
import * as m from './model.ts'
import { World } from './model.ts'
import * as command from './moves.ts'
import { aNight } from './moves.ts'
import { dice as diceOf, type Dice } from '../support/dice.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirrorFile, withReader } from '../support/mirror-file.ts'
import { isThere, type Reader } from '../support/mirror-reader.ts'
import { seeds } from '../support/seeds.ts'

test('whatever is hidden, pruned, forgotten, renamed, retired and restored, the mirror and its feed hold what they say', async () => {
  const steps = inject('isDeep') ? 60 : 20
  const first = inject('isDeep') ? Array.from({ length: seeds(20, { least: 1 }) }, (_, index) => index + 1) : []
  for (const seed of [...first, 29])
    expect({ seed, ...(await play(aMirrorFile(), diceOf(seed), steps)) }).toMatchObject({ seed, untruths: [] })
})

/** Plays random commands and nights on a new mirror at `file`. Returns the steps, and the first untruths. */
export async function play(file: string, dice: Dice, length: number): Promise<{ steps: string[]; untruths: string[] }> {
  const it = new World(file, dice)
  for (let step = 0; step < length; step += 1) {
    const before = numbersGiven(it)
    it.steps.push(await oneStep(it))
    if (!isThere(file)) continue
    const untruths = withReader(file, (db) => [
      ...untruthsOf(db, it.model),
      ...followed(it, db),
      ...givenTwice(it, db, before),
    ])
    if (untruths.length > 0) return { steps: it.steps, untruths }
    if (dice.chance(0.3) && isReadAnew(it)) it.followers = [...it.followers, withReader(file, aFollower)].slice(-3)
    it.day += dice.chance(0.2) ? 0.01 : dice.chance(0.1) ? dice.below(30) : 0.4 + dice.next()
  }
  return { steps: it.steps, untruths: [] }
}

/** Whether a run under the policy of now has read each list: until then, a program that follows the feed has to copy the customers once more. */
function isReadAnew({ model }: World): boolean {
  return [...model.values()].every(({ service, held }) => JSON.stringify(held.hides) === JSON.stringify(service.hides))
}

function numbersGiven(it: World) {
  return isThere(it.file) ? withReader(it.file, numbersIn) : it.given
}

/** Numbers of runs and changes that are new, and not greater than those given out before. */
function givenTwice(it: World, db: Reader, before: { seq: number; run: number }): string[] {
  const now = numbersIn(db)
  const untruths = (['seq', 'run'] as const).flatMap((kind) =>
    !it.steps.at(-1)?.startsWith('restore') && now[kind] > before[kind] && now[kind] <= it.given[kind]
      ? [`${kind} ${now[kind]} was given out before`]
      : [],
  )
  it.given = { seq: Math.max(it.given.seq, now.seq), run: Math.max(it.given.run, now.run) }
  return untruths
}

/** What programs that follow the feed have now, where it is not what the mirror holds. */
function followed(it: World, db: Reader): string[] {
  it.followers = it.followers.filter((follower) => !isTooOld(db, follower))
  return it.followers.flatMap((follower) => {
    const { byFeed, byUpdatedAt } = follow(db, follower)
    return Object.entries({ byFeed, byUpdatedAt }).flatMap(([way, { got, wanted }]) =>
      got.join() === wanted.join() ? [] : [`${way} since ${follower.seq}: ${differences(got, wanted)}`],
    )
  })
}

function differences(got: readonly string[], wanted: readonly string[]): string {
  const more = got.filter((row) => !wanted.includes(row))
  const less = wanted.filter((row) => !got.includes(row))
  return `has ${more.join('; ')} and lacks ${less.join('; ')}`
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
