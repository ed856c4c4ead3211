import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import type { Timings } from '../../jobs/timings.ts'
import { runWorker } from '../../jobs/worker.ts'
import { QUICK, readWorkerLog, type WorkerLog } from './worker-log.ts'

/** A worker in this process, stopped with the test at the latest. */
export type WorkerHere = WorkerLog & {
  /** As a signal does; fulfils once it has ended. */
  stop(): Promise<void>
  /** As SIGHUP does. */
  hangUp(): void
}

/** Starts a worker with a configuration in this process, which takes a tenth of the time that a process takes. */
export function startWorker(
  { config }: { config: string },
  { timings = {} }: { timings?: Partial<Timings> } = {},
): WorkerHere {
  const stopping = new AbortController()
  const stderr = new PassThrough()
  const log = readWorkerLog(stderr)
  let hangUp = () => {}
  const onHangUp = (listener: () => void) => {
    hangUp = listener
  }
  const http = { host: '127.0.0.1', port: 0 }
  const ended = runWorker(
    { config, embedded: false, http, logLevel: 'info', timings: { ...QUICK, ...timings } },
    { signal: stopping.signal, stderr, onHangUp },
  ).finally(() => stderr.end())
  const stop = () => {
    stopping.abort()
    return ended
  }
  onTestFinished(stop)
  return { ...log, stop, hangUp: () => hangUp() }
}
