import type { Session } from './session.ts'

/** A statement that writes. Its own parameters are $1, $2 and so on. */
export type Part = { sql: string; parameters: readonly unknown[] }

/** A part with a name. One that is not needed is left out. */
export type NamedPart = readonly [name: string, part: Part, isNeeded: boolean]

/**
 * Runs statements that write in one round trip, and returns the first row of the last one. The others have names, by which it and
 * those that stand after them read what they return. Each sees the tables as they were before all of them, so no two of them may
 * write the same row.
 */
export async function writeTogether<Row>(
  session: Session,
  named: readonly NamedPart[],
  last: Part,
): Promise<Row | undefined> {
  const parameters: unknown[] = []
  const numbered = (part: Part): string => {
    const before = parameters.length
    parameters.push(...part.parameters)
    return part.sql.replaceAll(/\$(\d+)/g, (_, number: string) => `$${before + Number(number)}`)
  }
  const parts = named.flatMap(([name, part, isNeeded]) => (isNeeded ? [`${name} AS (${numbered(part)})`] : []))
  const begin = parts.length === 0 ? '' : `WITH ${parts.join(',\n')}\n`
  return await session.first<Row>(begin + numbered(last), ...parameters)
}
