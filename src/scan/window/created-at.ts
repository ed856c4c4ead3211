import { isDate, isPlainUtc } from '../../time/calendar.ts'

const ISO_8601 = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?\s*(Z|z|[+-]\d{2}:?\d{2})?$/

/**
 * The instant of a `created_at` as text that sorts by time, the same for the same instant whatever form it was sent in;
 * undefined when unreadable. Without a zone it is UTC. Digits beyond nanoseconds are dropped: a coarser instant still
 * never sorts against time. A fraction follows the Z, so that the most usual form is its own sortable text.
 */
export function sortableInstant(createdAt: string | undefined): string | undefined {
  if (createdAt === undefined) return undefined
  if (isPlainUtc(createdAt)) return createdAt.length === 20 ? createdAt : `${createdAt.slice(0, 19)}Z`
  const [, date, time, fraction = '', zone = 'Z'] = ISO_8601.exec(createdAt) ?? []
  if (date === undefined || time === undefined) return undefined
  if (!isDate(Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8)))) return undefined
  if (time > '23:59:59' || time.slice(3, 5) > '59' || time.slice(6) > '59') return undefined
  const utc = zone === 'Z' ? `${date}T${time}` : shifted(`${date}T${time}`, -zoneMs(zone))
  return utc === undefined ? undefined : `${utc}Z${fraction.replace(/0+$/, '')}`
}

function shifted(written: string, byMs: number): string | undefined {
  const utc = new Date(Date.parse(`${written}Z`) + byMs).toISOString()
  return utc.length === 24 ? utc.slice(0, 19) : undefined
}

function zoneMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))]
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
