import { aJobsWorkplace } from './jobs-workplace.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** A folder for a worker of that many organizations. */
export async function aPlaceOf(count: number) {
  const sandbox = await aSandbox({ customers: Array.from({ length: count }, () => 3) })
  const organizations = organizationsOf(sandbox)
  return { place: aJobsWorkplace(organizations), organizations }
}
