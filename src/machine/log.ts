import { pino, type Logger } from 'pino'
import { plainJson } from '../text/plain-text.ts'

export type { Logger }

/** Values that must never be logged, wherever in the fields they are. */
const SECRET_FIELDS = ['apiKey', 'secret', 'signature', 'credentials', 'headers', 'payload', 'password', 'token']

/** The logger: JSON lines with `time` in ISO 8601, a short fixed `msg`, and ids and counts in fields. Level `silent` writes nothing. */
export function createLog({ level, stream }: { level: string; stream: NodeJS.WritableStream }): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[redacted]' },
    },
    // A line is read on a terminal too.
    { write: (line) => void stream.write(`${plainJson(line.trimEnd())}\n`) },
  )
}
