/** A day in any year, and the hours of it that come twice somewhere, because clocks are set back. */
type Hours = {
  readonly month: string
  /** The days of the month on which it may fall, both included. */
  readonly days: readonly [from: number, to: number]
  /** From 0 for Sunday; undefined for any. */
  readonly weekday: number | undefined
  /** From the beginning of the first to the beginning of the second. */
  readonly hours: readonly [from: string, to: string]
}

const [SUNDAY, THURSDAY, FRIDAY, SATURDAY] = [0, 4, 5, 6]

/** The rules of time zones since 2008, each a little wider than it must be; they are compared with those of ICU in a test. */
const SET_BACK: readonly Hours[] = [
  // Europe, the Levant, Mexico; a day before by local time: Greenland, Lebanon.
  { month: '10', days: [25, 31], weekday: SUNDAY, hours: ['00', '04'] },
  { month: '10', days: [24, 30], weekday: SATURDAY, hours: ['22', '24'] },
  // North America and Cuba.
  { month: '11', days: [1, 7], weekday: SUNDAY, hours: ['00', '02'] },
  // Australia, New Zealand, Lord Howe Island; Chile, Easter Island.
  { month: '04', days: [1, 7], weekday: SUNDAY, hours: ['01', '04'] },
  { month: '04', days: [1, 7], weekday: SATURDAY, hours: ['21', '24'] },
  // Paraguay until 2024, and Brazil until 2019.
  { month: '03', days: [21, 27], weekday: SATURDAY, hours: ['23', '24'] },
  { month: '02', days: [14, 27], weekday: SATURDAY, hours: ['23', '24'] },
  // Egypt; Jordan and Syria until 2021; Palestine; Iran until 2022.
  { month: '10', days: [25, 31], weekday: THURSDAY, hours: ['23', '24'] },
  { month: '10', days: [25, 31], weekday: FRIDAY, hours: ['00', '01'] },
  { month: '10', days: [24, 31], weekday: SATURDAY, hours: ['00', '02'] },
  { month: '09', days: [20, 21], weekday: undefined, hours: ['23', '24'] },
]

/**
 * Whether two creation times without a zone lie in the same hour of a night in which clocks are set back: it may have come twice, so
 * that which of them is the later one cannot be said.
 */
export function lieInRepeatedHours(one: string | undefined, other: string | undefined): boolean {
  if (
    one === undefined ||
    other === undefined ||
    one.slice(0, 10) !== other.slice(0, 10) ||
    one.slice(11, 13) !== other.slice(11, 13)
  )
    return false
  if (!LOCAL.test(one) || !LOCAL.test(other)) return false
  return SET_BACK.some((hours) => isIn(one, hours))
}

/** Most services send a zone, and the last character shows it. */
const LOCAL = /^\d{4}-\d\d-\d\d[T ][\d:.,]+\s*$/

function isIn(text: string, { month, days: [from, to], weekday, hours: [begin, end] }: Hours): boolean {
  if (text.slice(5, 7) !== month) return false
  const day = Number(text.slice(8, 10))
  const hour = text.slice(11, 13)
  if (day < from || day > to || hour < begin || hour >= end) return false
  return (
    weekday === undefined ||
    new Date(Date.UTC(Number(text.slice(0, 4)), Number(month) - 1, day)).getUTCDay() === weekday
  )
}
