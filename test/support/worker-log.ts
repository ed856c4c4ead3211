import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import type { Timings } from '../../jobs/timings.ts'

/** A log line of a worker, with the fields used in tests. */
const logLine = z.looseObject({
  msg: z.string(),
  report: z.looseObject({ organization: z.string() }).optional(),
  verdict: z.looseObject({ kind: z.string() }).optional(),
  http: z.string().optional(),
})
export type LogLine = z.output<typeof logLine>

/** What a worker logs. */
export type WorkerLog = {
  /** All of its output so far. */
  lines: string[]
  /** The first matching line, past or future. Rejects when the worker ends without one. */
  said(matches: (line: LogLine) => boolean): Promise<LogLine>
  /** The line about the end of a run. */
  ran(organization: string, verdict?: string): Promise<LogLine>
}

/** Faster than in production, and slow enough for a busy machine. */
export const QUICK: Partial<Timings> = {
  lockMs: 4000,
  stalledMs: 500,
  catchUpMs: 300,
  configLookMs: 200,
  leftWaitMs: 250,
  leasedWaitMs: 250,
  quickLookMs: 50,
  cancelLookMs: 50,
  mirrorWaitMs: 250,
  firstRetryMs: 100,
  longestRetryMs: 500,
  lookMs: 150,
}

/** Reads what a worker writes. */
export function readWorkerLog(stream: NodeJS.ReadableStream): WorkerLog {
  const lines: string[] = []
  const reader = createInterface({ input: stream })
  reader.on('line', (line) => lines.push(line))
  const closed = once(reader, 'close')

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
