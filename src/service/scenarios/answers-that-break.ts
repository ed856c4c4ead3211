import type { Answer, Serve } from '../answer.ts'
import type { ListEnvelope } from '../listing.ts'
import { onceInTheMiddle } from './middle-page.ts'
import { movingList } from './moving-list.ts'
import type { Scenario, Stage, Turn } from './scenario.ts'

/** The list is at rest, but answers fail. */
export const ANSWERS_THAT_BREAK: readonly Scenario[] = [
  {
    name: 'poison',
    says: 'Every page that contains one customer in the middle of the list is answered 500, for ever.',
    create: ({ customers }) => {
      const poison = customers[Math.floor(customers.length / 2)]?.id
      return {
        list: movingList(customers),
        answer: ({ query }, serve) => {
          const honest = serve(query)
          return honest.data.some(({ id }) => id === poison) ? broken() : { kind: 'page', envelope: honest }
        },
      }
    },
  },
  {
    name: 'flaky-500',
    says: 'Every third request is answered 500; its retry succeeds.',
    create: everyThird(() => broken()),
  },
  {
    name: 'truncate',
    says: 'Every third answer ends in the middle of its JSON with the connection closed; its retry succeeds.',
    create: everyThird((honest) => ({ kind: 'cut', envelope: honest })),
  },
  {
    name: 'slow-drip',
    says: 'Once, the answer with a page in the middle of the list arrives slowly, over forty seconds.',
    create: onceInTheMiddle((honest, _query, _serve, { dripMs }) => ({
      kind: 'drip',
      envelope: honest,
      overMs: dripMs,
    })),
  },
  {
    name: 'html-200',
    says: 'Once, a page in the middle of the list is answered with a maintenance page in HTML at status 200.',
    create: onceInTheMiddle(() => ({ kind: 'html', text: MAINTENANCE })),
  },
]

/** Breaks every third answer, but never the same page twice before a correct answer. */
function everyThird(breakIt: (honest: ListEnvelope) => Answer) {
  return ({ customers }: Stage) => {
    const failed = new Set<string>()
    const answer = ({ query, count }: Turn, serve: Serve): Answer => {
      const honest = serve(query)
      const asked = JSON.stringify(query)
      if (count % 3 !== 0 || failed.has(asked)) {
        failed.delete(asked)
        return { kind: 'page', envelope: honest }
      }
      failed.add(asked)
      return breakIt(honest)
    }
    return { list: movingList(customers), answer }
  }
}

function broken(): Answer {
  return { kind: 'error', status: 500, message: 'The service failed to answer this request.' }
}

const MAINTENANCE = `<!doctype html>
<html lang="en">
  <head><title>Maintenance</title></head>
  <body><h1>We will be back soon</h1><p>The service is being maintained.</p></body>
</html>
`
