import { OrganizationPaused } from '../../src/errors/errors.ts'
import { moment } from '../../src/wording.ts'

/** For a command that asks for a run of a paused organization. `untilMs` is undefined where the end of the pause is not known. */
export function pausedError(organization: string, untilMs: number | undefined): OrganizationPaused {
  const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
  return new OrganizationPaused(`${organization}: is paused${until}, so no run was started.`)
}
