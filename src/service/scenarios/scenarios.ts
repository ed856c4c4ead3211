import { didYouMean } from '../../config/suggestion.ts'
import { UsageError } from '../../errors/errors.ts'
import { LISTS_THAT_MOVE } from './lists-that-move.ts'
import { ORDERS_WITHOUT_A_TIEBREAK } from './orders-without-a-tiebreak.ts'
import type { Scenario } from './scenario.ts'
import { WRONG_ANSWERS } from './wrong-answers.ts'

/** Every scenario, harmless ones first. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'still', says: 'The list is at rest and every answer is correct, as without a scenario.' },
  ...LISTS_THAT_MOVE,
  ...ORDERS_WITHOUT_A_TIEBREAK,
  ...WRONG_ANSWERS,
]

/** The scenario of that name. Throws a UsageError, with the name that was probably meant, when there is none. */
export function scenarioNamed(name: string): Scenario {
  const scenario = SCENARIOS.find((known) => known.name === name)
  if (scenario) return scenario
  const names = SCENARIOS.map((known) => known.name)
  throw new UsageError(
    `There is no scenario "${name}"${didYouMean(name, names)}. 'customer-mirror sandbox --list-scenarios' lists them.`,
  )
}
