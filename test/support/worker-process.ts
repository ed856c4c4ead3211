import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { env as ours, execPath } from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { Timings } from '../../jobs/timings.ts'

const CHILD = fileURLToPath(new URL('worker-child.ts', import.meta.url))

/** What a worker says, with the fields tests ask about. */
const logLine = z.looseObject({
  msg: z.string(),
  report: z.looseObject({ organization: z.string() }).optional(),
  verdict: z.looseObject({ kind: z.string() }).optional(),
  http: z.string().optional(),
})
export type LogLine = z.output<typeof logLine>

/** A worker that runs as a process, killed with the test at the latest. */
export type WorkerProcess = {
  /** Everything it said so far, as it was written. */
  lines: string[]
  /** The first line, said or still to come, that matches. Rejects when the worker ends without one. */
  said(matches: (line: LogLine) => boolean): Promise<LogLine>
  /** The line that tells of the end of a run. */
  ran(organization: string, verdict?: string): Promise<LogLine>
  send(signal: NodeJS.Signals): void
  ended: Promise<{ code: number | null; signal: string | null; tookMs: number }>
}

/** Faster than in life, and slow enough for a machine that is busy. */
const QUICK: Partial<Timings> = {
  lockMs: 4000,
  stalledMs: 1000,
  reconcileMs: 1000,
  leasedWaitMs: 500,
  mirrorWaitMs: 500,
  firstRetryMs: 100,
  longestRetryMs: 500,
  lookMs: 300,
}

/** Starts a worker with the configuration in a folder. */
export function startWorkerProcess(
  { folder, config }: { folder: string; config: string },
  {
    timings = {},
    env = {},
    node = [],
  }: { timings?: Partial<Timings>; env?: Record<string, string>; node?: string[] } = {},
): WorkerProcess {
  const options = JSON.stringify({ config, timings: { ...QUICK, ...timings } })
  const child = spawn(execPath, [...node, CHILD, options], {
    cwd: folder,
    env: { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'], ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const lines: string[] = []
  const reader = createInterface({ input: child.stderr })
  reader.on('line', (line) => lines.push(line))
  const closed = once(reader, 'close')
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

  async function said(matches: (line: LogLine) => boolean): Promise<LogLine> {
    for (let seen = 0; ;) {
      for (; seen < lines.length; seen += 1) {
        const line = parse(lines[seen] ?? '')
        if (line !== undefined && matches(line)) return line
      }
      const next = once(reader, 'line').then(() => 'more')
      const first = await Promise.race([next, closed.then(() => 'end')])
      if (first === 'end' && seen >= lines.length)
        throw new Error(`The worker never said so. It said:\n${lines.join('\n')}`)
    }
  }

  return {
    lines,
    said,
    ran: (organization, verdict = 'complete') =>
      said((line) => line.report?.organization === organization && line.verdict?.kind === verdict),
    send: (signal) => {
      stoppedAtMs = performance.now()
      child.kill(signal)
    },
    ended,
  }
}

function parse(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined
  const parsed = logLine.safeParse(JSON.parse(text))
  return parsed.success ? parsed.data : undefined
}

/** Whether a line is the message. */
export function message(text: string): (line: LogLine) => boolean {
  return ({ msg }) => msg === text
}
