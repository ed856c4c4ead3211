import type { Answer, Serve } from '../answer.ts'
import type { ListEnvelope } from '../listing.ts'
import { onceInTheMiddle } from './middle-page.ts'
import { movingList } from './moving-list.ts'
import type { Scenario, Stage, Turn } from './scenario.ts'

/** The list is at rest and the service fails to tell it. */
export const ANSWERS_THAT_BREAK: readonly Scenario[] = [
  {
    name: 'poison',
    says: 'One customer in the middle of the list makes every answer it would be in a 500, for ever.',
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
    says: 'Every third request is answered 500, and asked again it is answered as it should be.',
    create: everyThird(() => broken()),
  },
  {
    name: 'truncate',
    says: 'Every third answer ends in the middle of its JSON with the connection closed; asked again it is whole.',
    create: everyThird((honest) => ({ kind: 'cut', envelope: honest })),
  },
  {
    name: 'slow-drip',
    says: 'Once, the answer with a page in the middle of the list drips in over forty seconds.',
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

/** Answers every third request in a broken way, but never the same page twice before it was answered well. */
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
