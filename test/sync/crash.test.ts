import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { execPath, hrtime } from 'node:process'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { START_MS } from '../support/builders.ts'
import { changingList, listedSource } from '../support/listed-source.ts'
import { aMirrorFile } from '../support/mirror-file.ts'
import { quickProgram } from '../support/run-cli.ts'
import { seeds } from '../support/seeds.ts'
import { expectHolds, expectSound } from '../support/sound-mirror.ts'

const CHILD = quickProgram(new URL('../support/mirroring-child.ts', import.meta.url))
const KILLS = seeds(4, { least: 1 })
const SEEDS = Array.from({ length: seeds(3, { least: 1 }) }, (_, index) => index + 1)
/** More than a child can mirror before it is killed. */
const EDITIONS = 50

/**
 * Each seed takes one mirror through several killed runs. The moment of a kill is so many lines of the child and then so
 * many microseconds, so that it falls anywhere: into the making of the file, a transaction, a commit, a checkpoint.
 */
test.each(SEEDS)(
  'a run killed at any instant leaves a sound mirror, and the next run completes it (seed %d)',
  async (seed) => {
    const file = aMirrorFile()
    const random = randomOf(seed)

    for (let kill = 1; kill <= KILLS; kill += 1) {
      const lines = kill === 1 ? 1 + Math.floor(random() * 3) : 1 + Math.floor(random() * 30)
      await killAfter({ file, edition: EDITIONS * kill, lines, microseconds: random() * 4000 })
      expectSound(file)
      // Sometimes a run that was killed is followed by another that will be.
      if (kill % 2 === 0 || kill === KILLS) await expectConverges(file, EDITIONS * (kill + 1) - 1)
    }
  },
)

async function killAfter(moment: {
  file: string
  edition: number
  lines: number
  microseconds: number
}): Promise<void> {
  const child = spawn(execPath, [...CHILD, moment.file, String(moment.edition)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let seen = 0
  for await (const _ of createInterface({ input: child.stdout })) {
    seen += 1
    if (seen === moment.lines) break
  }
  const until = hrtime.bigint() + BigInt(Math.round(moment.microseconds * 1000))
  while (hrtime.bigint() < until);
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
}

async function expectConverges(file: string, edition: number): Promise<void> {
  const list = changingList(edition)
  const mirror = await openMirror(file)
  const { report, error } = await mirrorOrganization({
    organization: 'acme',
    source: listedSource(list),
    mirror,
    trigger: 'sync',
    scan: 'plain',
    pageSize: 100,
    resumeWithinMs: 0,
    removals: { after: 2, maxShare: 0.1 },
    concurrency: 4,
    now: () => START_MS,
    random: () => 0,
    monotonicMs: () => START_MS,
    signal: new AbortController().signal,
  })
  await mirror.close()

  expect(error).toBeUndefined()
  expect(report).toMatchObject({ status: 'complete', received: list.length, rejected: 2 })
  expectSound(file)
  expectHolds(file, list)
}

/** Mulberry32: numbers from 0 to 1, the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
