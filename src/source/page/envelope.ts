import { z } from 'zod'

const WHOLE_NUMBER = { error: 'must be a whole number' }

const scalar = z.union([
  z.int(WHOLE_NUMBER).nonnegative(WHOLE_NUMBER),
  z
    .string()
    .regex(/^\d{1,15}$/, WHOLE_NUMBER)
    .transform(Number),
])

/** A whole number, also as digits in a string, or twice in a list as merged envelopes have it. */
const integer = z.union(
  [
    scalar,
    z
      .tuple([scalar, scalar])
      .refine(([first, second]) => first === second, WHOLE_NUMBER)
      .transform(([first]) => first),
  ],
  WHOLE_NUMBER,
)

/** An array with holes is written as an object by some services: its integer keys come in order. */
const holed = z
  .custom<Readonly<Record<string, unknown>>>((value) => isHoledArray(value))
  .transform((rows): unknown[] => Object.values(rows))

/** Every own key is checked, including `__proto__`, so that no received record is left out. */
function isHoledArray(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.keys(value).every((key) => /^(0|[1-9]\d{0,8})$/.test(key))
}

/** The documented envelope of a list. The records are validated elsewhere. Links are ignored: they are never followed. */
export const listEnvelope = z.object({
  success: z.literal(true, { error: 'must be true' }),
  data: z.union([z.array(z.unknown()), holed], { error: 'must be a list' }),
  meta: z.object(
    {
      current_page: integer,
      per_page: integer,
      total: integer.optional(),
      last_page: integer.optional(),
      from: integer.nullish(),
      to: integer.nullish(),
    },
    { error: 'must be an object' },
  ),
})

/** The documented envelope of an error, as far as a message may use it. */
export const errorEnvelope = z.object({
  success: z.literal(false).optional(),
  error: z.string().optional().catch(undefined),
  message: z.string().optional().catch(undefined),
})

export type ListEnvelope = z.output<typeof listEnvelope>

/** The first thing wrong with an envelope, as `meta.per_page must be a whole number`. Never quotes a value. */
export function envelopeProblem(error: z.ZodError): string {
  const issue = error.issues[0]
  // Only documented names: a service may send any other key.
  const path = issue?.path.filter((key) => typeof key === 'string') ?? []
  return path.length === 0 ? 'it is not an object' : `${path.slice(0, 2).join('.')} ${issue?.message ?? 'is wrong'}`
}
