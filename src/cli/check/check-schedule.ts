import { ConfigError } from '../../errors/errors.ts'
import type { Organization } from '../../config/organization.ts'
import { LEAST_OF_SHARE, type QuickLimit } from '../../quick-limit.ts'
import type { Finding } from './finding.ts'
import { count, moment } from '../output/wording.ts'

/**
 * Whether a worker would take the schedule of an organization, judged as the worker and `schedule` judge it; then when it has quick
 * runs, and what each may cost.
 */
export async function* checkSchedule(
  organization: Organization,
  { file, nowMs }: { file: string; nowMs: number },
): AsyncGenerator<Finding> {
  const { id, schedule, quick } = organization
  if (schedule === undefined) return
  const [{ scheduleMistakes }, { quickOutlook }] = await Promise.all([
    import('../../../jobs/schedule/schedule-mistakes.ts'),
    import('../../../jobs/schedule/quick-times.ts'),
  ])
  const mistakes = scheduleMistakes({ organizations: [organization], file }, nowMs)
  if (mistakes.length > 0) {
    const said = mistakes.map(({ message }) => message).join('\n')
    const fix = 'Change that line of the schedule.'
    yield { what: `schedule of ${id}`, said, error: new ConfigError(mistakes), fix }
    return
  }
  const what = `quick runs of ${id}`
  const outlook = quickOutlook(id, schedule, nowMs)
  if (outlook === undefined) return
  const { inADay, nextMs, isAlwaysAtNight } = outlook
  if (isAlwaysAtNight) {
    const said = `at each of their moments ("${schedule.quick}") the whole list is read anyway, so none is made`
    yield { what, said, fix: 'Name moments between the runs of cron, or remove quick.', isWarning: true }
    return
  }
  const said = `${count(inADay, 'run')} in the next 24 hours, the next at ${moment(nextMs)}, ${limitWords(quick.maxRequests)}`
  yield { what, said }
}

function limitWords(limit: QuickLimit): string {
  if ('requests' in limit) return `each with at most ${count(limit.requests, 'request')}`
  const percent = Number((limit.share * 100).toFixed(3))
  return `each with at most ${percent} % of the requests of a full scan, or ${LEAST_OF_SHARE} if that is more`
}
