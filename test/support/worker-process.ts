import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { env as ours, execPath } from 'node:process'
import { onTestFinished } from 'vitest'
import type { Timings } from '../../jobs/timings.ts'
import { quickProgram } from './quick-program.ts'
import { QUICK, readWorkerLog, type WorkerLog } from './worker-log.ts'

const CHILD = quickProgram(new URL('worker-child.ts', import.meta.url))

/** A worker that runs as a process, killed with the test at the latest. */
export type WorkerProcess = WorkerLog & {
  send(signal: NodeJS.Signals): void
  ended: Promise<{ code: number | null; signal: string | null; tookMs: number }>
}

/** Starts a worker with the configuration in a folder as a process, for promises about signals, exit codes and the environment. */
export function startWorkerProcess(
  { folder, config }: { folder: string; config: string },
  {
    timings = {},
    env = {},
    node = [],
  }: { timings?: Partial<Timings>; env?: Record<string, string>; node?: string[] } = {},
): WorkerProcess {
  const options = JSON.stringify({ config, timings: { ...QUICK, ...timings } })
  const child = spawn(execPath, [...node, ...CHILD, options], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const log = readWorkerLog(child.stderr)
  let stoppedAtMs = 0
  const ended = once(child, 'exit').then(() => ({
    code: child.exitCode,
    signal: child.signalCode,
    tookMs: performance.now() - stoppedAtMs,
  }))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })

  return {
    ...log,
    send: (signal) => {
      stoppedAtMs = performance.now()
      child.kill(signal)
    },
    ended,
  }
}
