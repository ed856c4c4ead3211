import { z } from 'zod'

/** Why a job waits although its turn has come: its organization is paused, or runs may not start at this hour. */
export type WhyPutOff = 'pause' | 'window'

/** A job that waits for that, in Unix milliseconds; `untilMs` is undefined where the end is not known. */
export type PutOff = { why: WhyPutOff; untilMs: number | undefined }

type Progressing = { progress: unknown }

const putOff = z.object({ putOff: z.object({ why: z.enum(['pause', 'window']), untilMs: z.number().optional() }) })

/** Why a job was put off when it was last started; undefined if it was not, or if a newer version says why. */
export function putOffOf({ progress }: Progressing): PutOff | undefined {
  const parsed = putOff.safeParse(progress)
  if (!parsed.success) return undefined
  const { why, untilMs } = parsed.data.putOff
  return { why, untilMs }
}

/** The progress of a job with this about it; the rest of it stays. */
export function withPutOff({ progress }: Progressing, found: PutOff | undefined): object {
  const { putOff: _before, ...rest } = z.looseObject({}).catch({}).parse(progress)
  return found === undefined ? rest : { ...rest, putOff: found }
}
