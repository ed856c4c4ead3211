import type { Config } from '../config/read-config.ts'
import { isOurs } from '../errors.ts'
import { configuredPlan } from '../reading/publish/configured-plan.ts'
import { checkTargets } from '../reading/publish/publish-check.ts'
import type { Finding } from './check-everything.ts'
import { explainFailure } from './output/explain-failure.ts'
import { count } from './output/wording.ts'

/** Whether the copy for readers could be made where the configuration says; nothing where it asks for none. */
export function* checkPublish(config: Config): Generator<Finding> {
  const plan = configuredPlan(config)
  if (plan === undefined) return
  const what = 'publish'
  try {
    const [first = plan.file, ...others] = checkTargets(plan)
    const more = others.length === 0 ? '' : ` and ${count(others.length, 'other copy', 'other copies')}`
    yield { what, said: `${first}${more} can be made` }
  } catch (error) {
    if (!isOurs(error)) throw error
    yield { what, said: error.message, error, fix: explainFailure(error).fix }
  }
}
