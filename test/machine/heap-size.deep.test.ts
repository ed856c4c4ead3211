import { execFile } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { YOUNG_MEGABYTES } from '../support/heap-room.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

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

/**
 * A hundred megabytes that live on, and three hundred that pass, so slowly that a collection beside them keeps up, also on a busy machine;
 * prints the megabytes of the heap at its largest.
 */
const LARGE = `
  const { getHeapStatistics } = await import('node:v8')
  const { setTimeout: sleep } = await import('node:timers/promises')
  const megabyte = () => Array.from({ length: 1024 }, () => new Array(122).fill(1.5))
  const [living, passing] = [[], []]
  let most = 0
  for (let count = 0; count < 400; count += 1) {
    if (count < 100) living.push(megabyte())
    else if (passing.push(megabyte()) > 8) passing.shift()
    most = Math.max(most, getHeapStatistics().used_heap_size / 1024 ** 2)
    await sleep(count < 100 ? 0 : 4)
  }
  console.log(most)
`

test('a large heap is looked through before it has doubled', async () => {
  const most = await numberPrinted(SET_FIRST + LARGE)

  expect(most).toBeGreaterThan(100)
  expect(most).toBeLessThan(210)
})

test('what one start compiled is taken by the next one, also where the heap became large', async () => {
  const folder = temporaryFolder()
  const [cache, program] = [join(folder, 'cache'), join(folder, 'program.mjs')]
  writeFileSync(join(folder, 'library.mjs'), 'export const twice = (number) => 2 * number\n')
  writeFileSync(
    program,
    `const { setHeapSize } = await import(${JSON.stringify(MODULE)})
    setHeapSize()
    await import('./library.mjs')
    ${LARGE}`,
  )
  const start = () => promisify(execFile)(process.execPath, [program], { env: { NODE_COMPILE_CACHE: cache } })
  await start()
  const written = timesIn(cache)
  await start()

  expect(written.length).toBeGreaterThanOrEqual(3)
  expect(timesIn(cache)).toEqual(written)
})

/** When each file below a folder was written. */
function timesIn(folder: string): [name: string, ms: number][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map((name) => [name, statSync(join(folder, name)).mtimeMs])
}

async function numberPrinted(program: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return Number(stdout)
}
