import { z } from 'zod'
import type { Stated } from '../../src/pause.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import { parseValue } from '../queue/shared-values.ts'

const moment = z.iso.datetime().transform((text) => Date.parse(text))
const stored = z
  .object({ since: moment, until: moment.optional(), resumed: moment.optional() })
  .transform(({ since, until, resumed }) => ({ sinceMs: since, untilMs: until, resumedMs: resumed }))

/** What is kept about a pause; undefined for a text that cannot be read, such as one of a newer version. */
export function parsePause(text: string): Stated | undefined {
  return parseValue(stored, text)
}

/** A pause as it is kept: `{"since": …, "until": …}`, and `resumed` once a person ended it. */
export function pauseText({ sinceMs, untilMs, resumedMs }: Stated): string {
  const [since, until, resumed] = [sinceMs, untilMs, resumedMs].map((ms) =>
    ms === undefined ? undefined : isoTime(ms),
  )
  return JSON.stringify({ since, until, resumed })
}
