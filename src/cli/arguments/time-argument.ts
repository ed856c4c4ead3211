import { InvalidArgumentError } from '@commander-js/extra-typings'
import { utcMoment } from '../../time/calendar.ts'

/** Parses an option that is a moment, with its zone or in UTC, into the form of the mirror. */
export function timeArgument(text: string): string {
  const moment = utcMoment(text)
  if (moment !== null) return moment
  throw new InvalidArgumentError(
    'It must be a time, in UTC unless it names its zone: 2026-03-01, "2026-03-01 14:30", 2026-03-01T14:30:00+01:00.',
  )
}
