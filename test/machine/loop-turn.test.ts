import { expect, test } from 'vitest'
import { turnWithTime } from '../../src/machine/timers.ts'

/** In which turn of the event loop each of several pieces of work began, counted from the first; each takes so long. */
async function turnsOf(pieces: number, tookMs: number): Promise<number[]> {
  let [nowMs, turn, isOver] = [0, 0, false]
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const began = await Promise.all(
    Array.from({ length: pieces }, async () => {
      await turnWithTime(() => nowMs)
      nowMs += tookMs
      return turn
    }),
  )
  isOver = true
  return began.map((each) => each - (began[0] ?? 0))
}

test('work that takes long is begun one piece a turn, so that the event loop looks at other things in between', async () => {
  expect(await turnsOf(4, 20)).toEqual([0, 1, 2, 3])
})

test('work that takes little is begun together', async () => {
  expect(await turnsOf(4, 5)).toEqual([0, 0, 0, 0])
  expect(await turnsOf(6, 10)).toEqual([0, 0, 1, 1, 2, 2])
})
