import { z } from 'zod'
import { cronProblem } from '../values/cron-line.ts'
import { duration } from '../values/duration.ts'
import { refusing } from '../values/refusing.ts'
import { didYouMean } from '../checks/suggestion.ts'

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

const spread = duration({ min: '0s', max: '1d' }).exactOptional().meta({
  description:
    'Organizations start at different moments within this time, each always at the same one. It is cut to the time between two runs.',
  default: '0s',
})

/** Written instead of a cron line where an organization has no quick runs although the others have. */
const NEVER = 'never'

const quick = z
  .string(`must be text of five fields, such as "*/15 * * * *", or ${NEVER}`)
  .check(refusing((text) => (text === NEVER ? undefined : cronProblem(text, QUICK))))
  .exactOptional()
  .meta({
    description:
      'When to look, between full runs and in a few requests, for who came and who left: five cron fields in the same time zone, ' +
      `or ${NEVER}. Removes no customer.`,
    examples: ['*/15 * * * *', NEVER],
  })

/** The schedule of all organizations. */
export const schedule = z.strictObject({ cron, timezone, spread, quick })

/** The schedule of one organization; missing fields come from the schedule of all. */
export const ownSchedule = z.strictObject({
  cron: cron.exactOptional(),
  timezone: timezone.exactOptional(),
  spread,
  quick,
})

type Written = z.output<typeof ownSchedule>

/** When an organization is mirrored: its own fields, then the shared ones; undefined without a cron line. */
export function mergeSchedule(shared: Written | undefined, own: Written | undefined) {
  const merged = { ...shared, ...own }
  const { cron: night, timezone: zone, spread: spreadMs = 0, quick: between = NEVER } = merged
  if (night === undefined || zone === undefined) return undefined
  return {
    ...{ cron: night, timezone: zone, spreadMs },
    ...(between !== NEVER && { quick: between }),
  }
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
