import { execFileSync } from 'node:child_process'
import { UsageError } from '../../errors/errors.ts'

/** The number of a group, from its name or number. Throws UsageError for a name that the system does not know. */
export function groupNumber(group: string | number): number {
  if (typeof group === 'number') return group
  if (/^\d+$/.test(group)) return Number(group)
  const line = lookUp(group)
  const number = Number(line?.split(':')[2])
  if (line !== undefined && Number.isInteger(number)) return number
  throw new UsageError(
    `publish.group: there is no group ${group} on this machine. Create it (groupadd ${group}), or name another group.`,
  )
}

/** As the system looks groups up, from files and from directories in the network. */
function lookUp(name: string): string | undefined {
  try {
    return execFileSync('getent', ['group', name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
