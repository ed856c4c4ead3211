import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openEmbedded } from '../../jobs/queue/embedded.ts'
import { keptOf, openKeptPglite, pathOfKept, PGLITE } from './postgres/server.ts'

// A folder with an embedded queue that was never used, to copy: seven seconds of a processor, in a process beside the first tests.

const QUEUE = ['small-queue', ['bullmq', PGLITE]] as const

/** The path of the folder, and the process that makes it where a test will want it and it is not there yet. */
export function startMakingQueue({ isWanted }: { isWanted: boolean }) {
  const path = pathOfKept(...QUEUE)
  const isMade = existsSync(path) || !isWanted
  return { path, maker: isMade ? undefined : spawn(process.execPath, [PROGRAM], { stdio: 'inherit' }) }
}

const PROGRAM = fileURLToPath(import.meta.url)
const LOOK_MS = 50
const MOST_LOOKS = 6000

export function whenMade(path: string): string {
  for (let looks = 1; !existsSync(path); looks += 1) {
    if (looks > MOST_LOOKS) throw new Error(`${path} was not made: standard error of the tests says why.`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS)
  }
  return path
}

async function makeQueue(made: string): Promise<void> {
  // The mirrors of tests need a PGlite that was just made too.
  mkdirSync(made, { recursive: true, mode: 0o700 })
  await openKeptPglite(join(made, 'postgres')).then((database) => database.close())
  await openEmbedded(made, 'customer-mirror').then((store) => store.close())
  // The templates for further databases, which no queue makes: more than half of the files that each test copies.
  for (const template of ['1', '4']) rmSync(join(made, 'postgres', 'base', template), { recursive: true })
}

if (process.argv[1] === PROGRAM) await keptOf(...QUEUE, makeQueue)
