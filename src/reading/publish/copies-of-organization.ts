import { existsSync } from 'node:fs'
import type { Config } from '../../config/read-config.ts'
import { configuredPlan } from './configured-plan.ts'
import { copyTargets } from './copy-target.ts'
import { olderCopies } from './older-copies.ts'

/** The copies that the configuration publishes and that may hold rows of an organization, as far as they exist; older ones last. */
export function copiesThatHold(config: Config, organization: string): string[] {
  const plan = configuredPlan(config)
  if (plan === undefined) return []
  return copyTargets(plan, [organization]).flatMap(({ file }) => [
    ...(existsSync(file) ? [file] : []),
    ...olderCopies(file).toReversed(),
  ])
}
