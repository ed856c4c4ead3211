import { z } from 'zod'

const WHYS = ['pause', 'window', 'configuration'] as const

/**
 * Why a job waits although its turn has come: its organization is paused, or runs may not start at this hour, or the worker that looked
 * does not have the organization in its configuration yet.
 */
export type WhyPutOff = (typeof WHYS)[number]

/** A job that waits for that, in Unix milliseconds; `untilMs` is undefined where the end is not known. */
export type PutOff = { why: WhyPutOff; untilMs: number | undefined }

type Progressing = { progress: unknown }

const putOff = z.object({ putOff: z.object({ why: z.enum(WHYS), untilMs: z.number().optional() }) })

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
