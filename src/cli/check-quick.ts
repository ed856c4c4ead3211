import type { Organization } from '../config/organization.ts'
import { ConfigError } from '../errors.ts'
import { LEAST_OF_SHARE, type QuickLimit } from '../quick-limit.ts'
import type { Finding } from './finding.ts'
import { count, moment } from './output/wording.ts'

/** When an organization has quick runs, and what each may cost; nothing where it has none. */
export async function* checkQuick(
  { id, schedule, quick }: Organization,
  { file, nowMs }: { file: string; nowMs: number },
): AsyncGenerator<Finding> {
  if (schedule?.quick === undefined) return
  const what = `quick runs of ${id}`
  const [{ scheduleProblem }, { quickOutlook }] = await Promise.all([
    import('../../jobs/schedule/due-times.ts'),
    import('../../jobs/schedule/quick-times.ts'),
  ])
  for (const [line, cron] of [
    ['cron line', schedule.cron],
    ['quick line', schedule.quick],
  ] as const) {
    const problem = scheduleProblem({ ...schedule, cron }, nowMs)
    if (problem === undefined) continue
    const error = new ConfigError([{ file, message: `schedule of ${id}: its ${line} names no moment (${problem})` }])
    yield { what, said: error.message, error, fix: 'Change that line of the schedule.' }
    return
  }
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
  return `each with at most ${percent} % of the requests of a full scan, or ${LEAST_OF_SHARE} where that is less`
}
