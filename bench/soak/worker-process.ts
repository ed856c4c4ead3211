import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { keyFor, secretOf, type Played } from './service.ts'

/** One life of a worker, from start to end. Times in Unix milliseconds. */
export type Life = {
  name: string
  log: string
  process: ChildProcess
  startedAtMs: number
  frozenAtMs: number[]
  isFrozen: boolean
  hasStarted: boolean
  /** Set by the soak before it ends the process. */
  endsAs: 'killed' | 'stopped' | undefined
  endedAtMs: number | undefined
  ended: Promise<void>
  /** Whether it had to be killed, long after it was asked to stop. */
  wouldNotStop: boolean
}

/** A worker that is started again and again under one name, with a folder and a configuration of its own. */
export type Worker = { name: string; config: string; lives: Life[] }

/** Starts the next life of a worker: its standard error goes to a file of its own. */
export function startLife(
  worker: Worker,
  { folder, organizations, now }: { folder: string; organizations: readonly Played[]; now: () => number },
) {
  const name = `${worker.name}.${worker.lives.length + 1}`
  const log = join(folder, `${name}.log`)
  const output = openSync(log, 'w', 0o600)
  const child = spawn(process.execPath, [CHILD, worker.config], {
    cwd: dirname(worker.config),
    env: environmentOf(name, organizations),
    stdio: ['pipe', output, output],
  })
  closeSync(output)
  const life: Life = {
    ...{ name, log, process: child, startedAtMs: now(), frozenAtMs: [], isFrozen: false, hasStarted: false },
    ...{ endsAs: undefined, endedAtMs: undefined, ended: Promise.resolve(), wouldNotStop: false },
  }
  life.ended = once(child, 'exit').then(() => {
    life.endedAtMs = now()
  })
  worker.lives.push(life)
  return life
}

const CHILD = fileURLToPath(new URL('worker-child.ts', import.meta.url))

/** The names of the variables with the key and the secret of an organization. */
export function variablesOf(organization: string): { key: string; secret: string } {
  const name = organization.toUpperCase()
  return { key: `${name}_KEY`, secret: `${name}_SECRET` }
}

function environmentOf(life: string, organizations: readonly Played[]): NodeJS.ProcessEnv {
  const keys = organizations.flatMap(({ id }) => {
    const { key, secret } = variablesOf(id)
    return [
      [key, keyFor(id, life)],
      [secret, secretOf(id)],
    ]
  })
  return { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: CACHE, HOOK_SECRET, ...Object.fromEntries(keys) }
}

const HOOK_SECRET = `whsec_${Buffer.from('the secret of a soak is not one').toString('base64')}`
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/customer-mirror-soak', import.meta.url))

export function lifeOf({ lives }: Worker): Life | undefined {
  const life = lives.at(-1)
  return life?.endedAtMs === undefined ? life : undefined
}

/** Whether a life has reported, at some time, that it takes jobs. */
export function hasStarted(life: Life): boolean {
  life.hasStarted ||= readFileSync(life.log, 'utf8').includes('"msg":"worker started"')
  return life.hasStarted
}

/** Ends a process by SIGKILL, or in good order by SIGTERM, and returns when it is gone. */
export async function endLife(life: Life, as: 'killed' | 'stopped'): Promise<void> {
  life.endsAs = as
  life.process.kill(as === 'killed' ? 'SIGKILL' : 'SIGTERM')
  const late = sleep(STOP_MS, 'late', { ref: false })
  if ((await Promise.race([life.ended, late])) !== 'late') return
  life.wouldNotStop = true
  life.process.kill('SIGKILL')
  await life.ended
}

/** Six times as long as a stop may take on a machine that is not busy. */
const STOP_MS = 60_000
