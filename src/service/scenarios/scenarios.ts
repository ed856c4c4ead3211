import { didYouMean } from '../../config/checks/suggestion.ts'
import { UsageError } from '../../errors/errors.ts'
import { ANSWERS_THAT_BREAK } from './answers-that-break.ts'
import { LIMITS_AND_CLOCKS } from './limits-and-clocks.ts'
import { LISTS_IN_OTHER_ORDERS } from './lists-in-other-orders.ts'
import { LISTS_THAT_MOVE } from './lists-that-move.ts'
import { ORDERS_THAT_CHANGE } from './orders-that-change.ts'
import { ORDERS_WITHOUT_A_TIEBREAK } from './orders-without-a-tiebreak.ts'
import { PAGES_THAT_LIE } from './pages-that-lie.ts'
import { RECORDS_OF_MANY_KINDS } from './records-of-many-kinds.ts'
import type { Scenario } from './scenario.ts'
import { SIZES_AND_ENDS } from './sizes-and-ends.ts'
import { STALE_CACHE } from './stale-cache.ts'

const STILL: Scenario = {
  name: 'still',
  says: 'The list is at rest and every answer is correct, as without a scenario.',
}

/** Every scenario, harmless ones first. */
export const SCENARIOS: readonly Scenario[] = [
  STILL,
  ...LISTS_THAT_MOVE,
  ...ORDERS_THAT_CHANGE,
  ...LISTS_IN_OTHER_ORDERS,
  ...ORDERS_WITHOUT_A_TIEBREAK,
  ...SIZES_AND_ENDS,
  ...PAGES_THAT_LIE,
  ...ANSWERS_THAT_BREAK,
  ...RECORDS_OF_MANY_KINDS,
  ...LIMITS_AND_CLOCKS,
  ...STALE_CACHE,
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
