import { z } from 'zod'
import { duration, refusing, setting } from './values.ts'
import { didYouMean } from './suggestion.ts'

const cron = z
  .string({
    error: ({ input }) =>
      `${input === undefined ? 'is missing: write' : 'must be'} text of five fields, such as ${NIGHTLY}`,
  })
  .check(refusing((text) => cronProblem(text, NIGHTLY)))
  .meta({
    description: 'When to run, as five cron fields: minute, hour, day of month, month, day of week.',
    examples: ['0 2 * * *'],
  })

const timezone = z
  .string({ error: ({ input }) => (input === undefined ? 'is missing: such as Europe/Paris' : undefined) })
  .check(refusing(timezoneProblem))
  .meta({ description: 'The time zone of the cron fields, as Region/City.', examples: ['Europe/Paris'] })

/** Written instead of a cron line where an organization has no quick runs although the others have. */
const NEVER = 'never'

const between = {
  spread: setting(
    duration({ min: '0s', max: '1d' }),
    'Organizations start at different moments within this time, each always at the same one. It is cut to the time between two runs.',
    { default: '0s' },
  ),
  quick: setting(
    z
      .string(`must be text of five fields, such as "*/15 * * * *", or ${NEVER}`)
      .check(refusing((text) => (text === NEVER ? undefined : cronProblem(text, QUICK)))),
    'When to look, between full runs and in a few requests, for who came and who left: five cron fields in the same time zone, ' +
      `or ${NEVER}. Removes no customer.`,
    { examples: ['*/15 * * * *', NEVER] },
  ),
}

export const schedule = z.strictObject({ cron, timezone, ...between })

/** The schedule of one organization; missing fields come from the schedule of all. */
export const ownSchedule = z.strictObject({
  cron: cron.exactOptional(),
  timezone: timezone.exactOptional(),
  ...between,
})

type Written = z.output<typeof ownSchedule>

/** When an organization is mirrored: its own fields, then the shared ones; undefined without a cron line. */
export function mergeSchedule(shared: Written | undefined, own: Written | undefined) {
  const { cron: night, timezone: zone, spread: spreadMs = 0, quick = NEVER } = { ...shared, ...own }
  if (night === undefined || zone === undefined) return undefined
  return { cron: night, timezone: zone, spreadMs, ...(quick !== NEVER && { quick }) }
}

const NIGHTLY = '"0 2 * * *" for every night at two'
const QUICK = `"*/15 * * * *" for every quarter of an hour, or be ${NEVER}`

/** The mistake in the name of a time zone, as a sentence. */
function timezoneProblem(name: string): string | undefined {
  if (/^[A-Za-z]/.test(name) && isKnownZone(name)) return undefined
  return `must be a time zone such as Europe/Paris or UTC${didYouMean(name, Intl.supportedValuesOf('timeZone'))}`
}

function isKnownZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A field of a cron line: its numbers, the names that stand for them from `first` on, and what else it may be. */
type Field = { name: string; min: number; max: number; names?: readonly string[]; first?: number; also?: RegExp }

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
const DAYS = 'SUN MON TUE WED THU FRI SAT'.split(' ')

const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31, also: /^[?L]$/i },
  { name: 'month', min: 1, max: 12, names: MONTHS, first: 1 },
  // The last Friday of a month, or its second one.
  {
    name: 'day of week',
    min: 0,
    max: 7,
    names: DAYS,
    also: new RegExp(`^(?:\\?|(?:[0-7]|${DAYS.join('|')})(?:L|#[1-5]))$`, 'i'),
  },
]

/**
 * The mistake in a cron line, as a sentence; `example` is what follows "such as". The scheduler reads more, and takes it for something else:
 * a weekday among the months for a month, say. It decides in the end whether there is such a moment.
 */
function cronProblem(text: string, example: string): string | undefined {
  const written = text.trim().split(/\s+/)
  if (written.length !== FIELDS.length) return `must have five fields, such as ${example}`
  const at = FIELDS.findIndex((field, index) => !written[index]?.split(',').every((part) => isPart(part, field)))
  const field = FIELDS[at]
  if (field === undefined) return undefined
  const { name, min, max } = field
  return `has a bad ${name} (field ${at + 1} of five): write numbers from ${min} to ${max}, a range upwards such as 1-5, or * with a step such as */5`
}

/** Whether it is `*`, a value or a range, each with a step or without one, or what else the field may be. */
function isPart(part: string, { min, max, names = [], first = 0, also }: Field): boolean {
  if (also?.test(part)) return true
  const [, range, step = '1'] = /^([^/]+)(?:\/(\d+))?$/.exec(part) ?? []
  if (range === undefined || Number(step) < 1 || Number(step) > max) return false
  if (range === '*') return true
  const [from = Number.NaN, to = from, ...others] = range.split('-').map((value) => {
    const at = names.indexOf(value.toUpperCase())
    if (at >= 0) return at + first
    return /^\d+$/.test(value) ? Number(value) : Number.NaN
  })
  return others.length === 0 && min <= from && from <= to && to <= max
}
