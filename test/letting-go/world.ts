import { openMirror } from '../../src/store/mirror.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { START_MS } from '../support/builders.ts'
import type { Dice } from '../support/dice.ts'
import type { Follower } from './followers.ts'
import * as m from './model.ts'

/** A mirror, its model, and all that was taken from it. */
export class World {
  model: m.Model = new Map()
  /** In days since the start. */
  day = 0
  followers: Follower[] = []
  backups: { file: string; model: m.Model }[] = []
  given = { seq: 0, run: 0 }
  /** Who is forgotten of services that a restored backup does not have. */
  waiting: { name: string; service: m.Service; gone: ReadonlySet<number> }[] = []
  services = 0
  steps: string[] = []
  file: string
  dice: Dice
  readonly after: number

  constructor(file: string, dice: Dice) {
    this.file = file
    this.dice = dice
    this.after = 1 + dice.below(2)
  }

  get nowMs(): number {
    return START_MS + this.day * m.DAY_MS
  }

  pick<T>(choices: readonly T[]): T | undefined {
    return choices[this.dice.below(choices.length)]
  }

  async withMirror<Result>(work: (mirror: Mirror) => Promise<Result>): Promise<Result> {
    const mirror = await openMirror(this.file)
    try {
      return await work(mirror)
    } finally {
      await mirror.close()
    }
  }
}

export function entryOf(it: World, name: string) {
  const entry = it.model.get(name)
  if (entry === undefined) throw new Error(`${name} is not in the model`)
  return entry
}
