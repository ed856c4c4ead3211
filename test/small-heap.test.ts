import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const MODULE = fileURLToPath(new URL('../src/small-heap.ts', import.meta.url))

/** Objects that live long enough to be copied, as pages do that wait to be saved; prints the room given to what is young. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8'
  const kept = []
  for (let round = 0; round < 300; round += 1) {
    kept.push(Array.from({ length: 5000 }, (_, index) => ({ round, text: 'customer ' + index })))
    if (kept.length > 20) kept.shift()
    if (round % 10 === 0) await new Promise(setImmediate)
  }
  console.log(getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1024 ** 2)
`

test('the space for young objects stops growing, which it does not do by default', async () => {
  const grown = await youngMegabytes(PROGRAM)
  const kept = await youngMegabytes(`
    import { keepHeapSmall } from ${JSON.stringify(MODULE)}
    keepHeapSmall()
    ${PROGRAM}`)

  expect(grown).toBeGreaterThan(40)
  expect(kept).toBeLessThan(40)
})

async function youngMegabytes(program: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  return Number(stdout)
}
