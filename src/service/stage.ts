import type { AnswerList } from './answer.ts'
import type { ServiceOrganization } from './app.ts'
import type { ServiceCustomer } from './customers.ts'
import { seededRandom } from './random.ts'
import { newcomers } from './scenarios/arrivals.ts'
import { movingList } from './scenarios/moving-list.ts'
import type { MovingList, Truth } from './scenarios/moving-list.ts'
import type { Play, Scenario } from './scenarios/scenario.ts'

/** One organization of a sandbox during a scenario: its input to the service, and the true state of its list. */
export type Staged = Pick<ServiceOrganization, 'customers' | 'answer'> & { list: MovingList; truth: Truth }

export type StageOptions = {
  scenario: Scenario
  customers: readonly ServiceCustomer[]
  /** The seed of every random choice. */
  seed: string
  dripMs: number
  now: () => number
}

/** Starts a scenario for one organization. */
export function stageOrganization({ scenario, customers, seed, dripMs, now }: StageOptions): Staged {
  const random = seededRandom(`${seed} ${scenario.name}`)
  const play = scenario.create?.({ customers, random, newcomer: newcomers(seed), dripMs, now }) ?? {
    list: movingList(customers),
  }
  return { list: play.list, truth: truthOf(play), ...answersOf(play) }
}

function answersOf({ list, before, arrange, answer }: Play): Pick<Staged, 'customers' | 'answer'> {
  let count = 0
  const answerTurn: AnswerList = (query, serve) => {
    count += 1
    const turn = { query, count }
    before?.(turn)
    return answer?.(turn, serve) ?? { kind: 'page', envelope: serve(query) }
  }
  return {
    customers: { list: (query) => arrange?.(list.rows(), { query, count }) ?? list.rows() },
    answer: answerTurn,
  }
}

/** The truth without ids that are never sent: no reader can know them. Customers that are arranged anew keep no place. */
function truthOf({
  list: { truth, rows },
  arrange,
  keepsPlace = () => arrange === undefined,
  nameless = new Set(),
}: Play): Truth {
  const restless = () => new Set(rows().flatMap((row) => (keepsPlace(row) ? [] : [row.id])))
  return {
    mark: truth.mark,
    lived: (since) => truth.lived(since).difference(nameless),
    stayed: (since) => truth.stayed(since).difference(nameless).difference(restless()),
    moved: (since) => truth.moved(since).difference(nameless).union(restless()),
    listed: () => truth.listed().difference(nameless),
    everDeleted: () => truth.everDeleted().difference(nameless),
  }
}
