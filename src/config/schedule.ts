import { Cron } from 'croner'
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

export const schedule = z.strictObject({
  cron,
  timezone,
  spread: setting(
    duration({ min: '0s', max: '1d' }),
    'Organizations start at different moments within this time, each always at the same one. It is cut to the time between two runs. ' +
      'Raise it where many organizations ask one service.',
    { default: '0s' },
  ),
  quick: setting(
    z
      .string(`must be text of five fields, such as "*/15 * * * *", or ${NEVER}`)
      .check(refusing((text) => (text === NEVER ? undefined : cronProblem(text, QUICK)))),
    'When to look, between full runs and in a few requests, for who came and who left: five cron fields in the same time zone, ' +
      `or ${NEVER}. Removes no customer. Set it where a day is too long to wait.`,
    { examples: ['*/15 * * * *', NEVER] },
  ),
})

/** The schedule of one organization; missing fields come from the schedule of all. */
export const ownSchedule = schedule.partial()

type Written = z.output<typeof ownSchedule>

/** When an organization is mirrored: its own fields, then the shared ones; undefined without a cron line. */
export function mergeSchedule(shared: Written | undefined, own: Written | undefined) {
  const { cron: night, timezone: zone, spread: spreadMs = 0, quick = NEVER } = { ...shared, ...own }
  if (night === undefined || zone === undefined) return undefined
  return { cron: night, timezone: zone, spreadMs, ...(quick !== NEVER && { quick }) }
}

const NIGHTLY = '"0 2 * * *" for every night at two'
const QUICK = `"*/15 * * * *" for every quarter of an hour, or be ${NEVER}`

function timezoneProblem(name: string): string | undefined {
  // The first format takes 13 ms of a start. The list of zones takes one, but lacks their other names.
  if (name === UTC || Intl.supportedValuesOf('timeZone').includes(name)) return undefined
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    if (timeZone !== '' && /^[A-Za-z]/.test(name)) return undefined
  } catch {
    // No such zone is known.
  }
  return `must be a time zone such as Europe/Paris or UTC${didYouMean(name, Intl.supportedValuesOf('timeZone'))}`
}

/** The mistake in a cron line, as a sentence; `example` is what follows "such as". */
function cronProblem(text: string, example: string): string | undefined {
  if (text.trim().split(/\s+/).length !== 5) return `must have five fields, such as ${example}`
  try {
    const isNever = parsedCron({ cron: text, timezone: UTC }).nextRun(new Date(0)) === null
    return isNever ? 'names no moment: there is no such day' : undefined
  } catch {
    return `has a bad field: write numbers, a range upwards such as 1-5, or * with a step such as */5, as in ${example}`
  }
}

const UTC = 'UTC'

/** The moments of a cron line. Throws for a line with a mistake. */
export function parsedCron({ cron: line, timezone: zone }: { cron: string; timezone: string }): Cron {
  const clock = zone === UTC ? { utcOffset: 0 } : { timezone: zone }
  const options = { ...clock, mode: '5-part', sloppyRanges: true, fixedTimeRule: 'no-wildcard' } as const
  return new Cron(line.replaceAll('?', '*'), options)
}
