import type { Answer, Serve } from '../answer.ts'
import type { ListEnvelope, ListQuery } from '../listing.ts'
import { movingList } from './moving-list.ts'
import { isUnfiltered } from './scenario.ts'
import type { Play, Scenario, Stage } from './scenario.ts'

type Strange = (honest: ListEnvelope, query: ListQuery, serve: Serve, stage: Stage) => Answer

/**
 * A scenario with one wrong answer: to the first request for a page that contains the middle of the list and is neither the
 * first page nor the last. Later requests are answered correctly, the same page included.
 */
export function onceInTheMiddle(strange: Strange): NonNullable<Scenario['create']> {
  return (stage): Play => {
    let done = false
    return {
      list: movingList(stage.customers),
      answer: ({ query }, serve) => {
        const honest = serve(query)
        if (done || !isInTheMiddle(query, honest)) return { kind: 'page', envelope: honest }
        done = true
        return strange(honest, query, serve, stage)
      },
    }
  }
}

function isInTheMiddle(query: ListQuery, { meta }: ListEnvelope): boolean {
  const start = (query.page - 1) * query.perPage
  const middle = Math.floor(meta.total / 2)
  const holdsMiddle = start <= middle && middle < start + query.perPage
  return isUnfiltered(query) && holdsMiddle && query.page > 1 && query.page < meta.last_page
}
