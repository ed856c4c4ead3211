import { z } from 'zod'

/** The hours of a day in which runs may start, by the clocks of a time zone: minutes after midnight, from 0 to 1440. */
export type Window = { fromMinute: number; toMinute: number }

const FORM = /^([01]\d|2[0-3]):([0-5]\d) ?- ?(([01]\d|2[0-3]):([0-5]\d)|24:00)$/
const EXAMPLES = 'must be two times of a day with a dash between them, such as "22:00-06:00"'

/** The hours of a day in which runs may start, in the configuration. They may pass midnight. */
export const window = z
  .string(EXAMPLES)
  .regex(FORM, { error: EXAMPLES, abort: true })
  .refine((text) => !isEmpty(parse(text)), 'ends when it begins: write 00:00-24:00 for the whole day')
  .transform(parse)

function parse(text: string): Window {
  const [fromMinute = 0, toMinute = 0] = text.split('-').map((time) => {
    const [hour, minute] = time.trim().split(':').map(Number)
    return (hour ?? 0) * 60 + (minute ?? 0)
  })
  return { fromMinute, toMinute }
}

function isEmpty({ fromMinute, toMinute }: Window): boolean {
  return fromMinute === toMinute
}

/** As in the configuration: `22:00-06:00`. */
export function windowText({ fromMinute, toMinute }: Window): string {
  return [fromMinute, toMinute].map(timeText).join('-')
}

function timeText(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}
