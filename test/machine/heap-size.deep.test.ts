import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { YOUNG_MEGABYTES } from '../support/heap-room.ts'

const MODULE = fileURLToPath(new URL('../../src/machine/heap-size.ts', import.meta.url))

const SET_FIRST = `
  import { setHeapSize } from ${JSON.stringify(MODULE)}
  setHeapSize()
`

/** Objects that live long enough to be copied, as pages do that wait to be saved; prints the room given to young objects. */
const PROGRAM = `
  const kept = []
  for (let round = 0; round < 300; round += 1) {
    kept.push(Array.from({ length: 5000 }, (_, index) => ({ round, text: 'customer ' + index })))
    if (kept.length > 20) kept.shift()
    if (round % 10 === 0) await new Promise(setImmediate)
  }
  console.log(${YOUNG_MEGABYTES})
`

test('the room for young objects is there at once and does not grow, which it does by itself', async () => {
  const grown = await numberPrinted(PROGRAM)
  const atOnce = await numberPrinted(`${SET_FIRST}; console.log(${YOUNG_MEGABYTES})`)
  const kept = await numberPrinted(SET_FIRST + PROGRAM)

  expect(grown).toBeGreaterThan(40)
  expect(atOnce).toBeGreaterThanOrEqual(8)
  // A collection that is under way when the factor is set back may still let it grow, once, to less than twice as much.
  expect(kept).toBeLessThanOrEqual(32)
})

/** A hundred megabytes that live on, and four hundred that pass; prints the megabytes of the heap at its largest. */
const LARGE = `
  import { getHeapStatistics } from 'node:v8'
  const megabyte = () => Array.from({ length: 1024 }, () => new Array(122).fill(1.5))
  const [living, passing] = [[], []]
  let most = 0
  for (let count = 0; count < 500; count += 1) {
    if (count < 100) living.push(megabyte())
    else if (passing.push(megabyte()) > 8) passing.shift()
    most = Math.max(most, getHeapStatistics().used_heap_size / 1024 ** 2)
    await new Promise(setImmediate)
  }
  console.log(most)
`

test('a large heap is looked through before it has doubled', async () => {
  const most = await numberPrinted(SET_FIRST + LARGE)

  expect(most).toBeGreaterThan(100)
  expect(most).toBeLessThan(250)
})

async function numberPrinted(program: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return Number(stdout)
}
