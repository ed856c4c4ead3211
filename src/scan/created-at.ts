const ISO_8601 = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9})\d*)?\s*(Z|z|[+-]\d{2}:?\d{2})?$/

/**
 * The instant of a `created_at` as text that sorts by time, whatever form it was sent in; undefined when unreadable.
 * Without a zone it is UTC. Digits beyond nanoseconds are dropped: a coarser instant still never sorts against time.
 */
export function sortableInstant(createdAt: string | undefined): string | undefined {
  const [, date, time, fraction = '', zone = 'Z'] = (createdAt ?? '').match(ISO_8601) ?? []
  if (date === undefined || time === undefined) return undefined
  const written = Date.parse(`${date}T${time}Z`)
  if (Number.isNaN(written) || !new Date(written).toISOString().startsWith(date)) return undefined
  const utc = new Date(written - zoneMs(zone)).toISOString()
  return utc.length === 24 ? `${utc.slice(0, 19)}.${fraction.padEnd(9, '0')}` : undefined
}

function zoneMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))]
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
