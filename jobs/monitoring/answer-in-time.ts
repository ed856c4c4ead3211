import { MirrorUnusable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store.ts'
import { within } from '../queue/deadline.ts'

type Limits = {
  /** A scrape looks twice, and Prometheus gives it ten seconds. */
  lookMs: number
  /** Counting the customers of a large mirror takes its time. */
  countMs: number
}

const LIMITS: Limits = { lookMs: 3000, countMs: 60_000 }

/** The most look-ups that may wait for an answer at the same time: each holds a connection that the runs need. */
const MOST_LATE = 2

/**
 * The mirror as the endpoints look at it. They must answer even while its server is frozen or cut off, so a look-up without an answer in time
 * is refused as `gone`. While too many look-ups wait for an answer, each further one is refused at once.
 */
export function answeringInTime(mirror: Mirror, { lookMs, countMs }: Limits = LIMITS): Mirror {
  let late = 0
  const unanswered = () => new MirrorUnusable(`${mirror.file}: the server does not answer in time.`, { code: 'gone' })

  async function inTime(ask: () => Promise<unknown>, ms: number): Promise<unknown> {
    if (late >= MOST_LATE) throw unanswered()
    const asked = ask()
    const found = await within(
      asked.then((answer) => ({ answer })),
      ms,
      undefined,
    )
    if (found !== undefined) return found.answer
    const ended = () => (late -= 1)
    late += 1
    asked.then(ended, ended)
    throw unanswered()
  }

  return new Proxy(mirror, {
    get(target, verb) {
      const asked: unknown = Reflect.get(target, verb)
      if (typeof asked !== 'function') return asked
      const ms = verb === 'listFreshness' ? countMs : lookMs
      return (...filter: unknown[]) => inTime(async () => Reflect.apply(asked, target, filter), ms)
    },
  })
}
