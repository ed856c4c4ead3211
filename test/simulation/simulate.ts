import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { env } from 'node:process'
import { parseArgs } from 'node:util'
import { memoryFolder } from '../support/test-run.ts'
import { type Fault, planOf, shrunk } from './plan.ts'
import { type Played, playWorld } from './world.ts'

// Plays worlds (CONTRIBUTING.md). The first that fails loses the faults that it does not need, and the line that plays it is printed.

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    nights: { type: 'string', default: '30' },
    worlds: { type: 'string', default: '1' },
    /** The places of faults in the plan of the seed that are to happen, or `none`; all of them without it. */
    only: { type: 'string' },
  },
})
const [seed, nights, worlds] = [values.seed, values.nights, values.worlds].map(Number)
if (seed === undefined || nights === undefined || worlds === undefined || !(seed >= 0 && nights >= 1 && worlds >= 1)) {
  process.stderr.write('--seed, --nights and --worlds are whole numbers. Nothing was played.\n')
  process.exit(2)
}
/** Untruths of one world are mostly of one kind. */
const MOST_SHOWN = 5
const only = values.only?.split(',').map(Number)

for (let at = seed; at < seed + worlds; at += 1) {
  const all = planOf(at, nights)
  const planned = only === undefined ? all : all.filter((_, index) => only.includes(index))
  const play = (faults: readonly Fault[]) => inFolder((file) => playWorld({ file, seed: at, nights, faults }))
  const { log, untruths } = await play(planned)
  if (worlds === 1) process.stdout.write(log.map((line) => `${line}\n`).join(''))
  if (untruths.length === 0) continue
  const needed = await shrunk(planned, async (fewer) => (await play(fewer)).untruths.length > 0)
  for (const untruth of untruths.slice(0, MOST_SHOWN)) process.stdout.write(`not so: ${untruth}\n`)
  const places = needed.map((fault) => all.indexOf(fault))
  process.stdout.write(`npm run simulate -- --seed ${at} --nights ${nights} --only ${places.join() || 'none'}\n`)
  process.exit(1)
}
process.stdout.write(`${worlds} ${worlds === 1 ? 'world' : 'worlds'} of ${nights} nights: nothing was untrue.\n`)

async function inFolder(play: (file: string) => Promise<Played>): Promise<Played> {
  const folder = mkdtempSync(join(memoryFolder() ?? env['TMPDIR'] ?? tmpdir(), 'customer-mirror-'))
  try {
    return await play(join(folder, 'customers.db'))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
