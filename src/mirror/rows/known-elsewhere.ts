import type { KnownElsewhere } from '../../store.ts'

/** Counts ids that belong to other organizations, from a row for each id and organization. */
export function knownElsewhere(rows: readonly { id: string; organization: string }[]): KnownElsewhere {
  const known = new Set<string>()
  const byOrganization = new Map<string, number>()
  for (const { id, organization } of rows) {
    known.add(id)
    byOrganization.set(organization, (byOrganization.get(organization) ?? 0) + 1)
  }
  const [most] = [...byOrganization].toSorted(
    ([name, one], [otherName, other]) => other - one || (name < otherName ? -1 : 1),
  )
  return { count: known.size, mostlyOf: most?.[0] }
}
