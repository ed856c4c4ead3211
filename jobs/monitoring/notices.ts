import type { Pauses } from '../../src/pause.ts'
import type { Mirror } from '../../src/store.ts'
import { expectedNow } from '../pauses/expected-now.ts'
import { mirrorProblems, type MirrorFailure } from './mirror-failures.ts'

type Noticed = {
  /** What is wrong with the configuration, in sentences. */
  configuration: readonly string[]
  organizations: readonly { id: string }[]
  mirror: Pick<Mirror, 'listLastRuns'>
  /** The organizations whose last run here failed by the mirror. */
  mirrorFailures: ReadonlyMap<string, MirrorFailure>
  pauses: Pauses
  nowMs: number
}

/** What the page says above the organizations: what is wrong here and stands at none of them. `/readyz` names the same. */
export async function noticesOf(noticed: Noticed): Promise<string[]> {
  const { configuration, organizations, mirror, mirrorFailures, pauses, nowMs } = noticed
  if (mirrorFailures.size === 0) return [...configuration]
  const expected = expectedNow(organizations, pauses, nowMs)
  return [...configuration, ...mirrorProblems(mirrorFailures, expected, await mirror.listLastRuns())]
}
