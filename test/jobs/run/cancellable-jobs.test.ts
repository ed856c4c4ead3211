import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { cancellable } from '../../../jobs/run/cancellations.ts'
import { eventually } from '../../support/eventually.ts'

const ACME = { id: 'acme.2', data: { organization: 'acme' } }

test.each([['while it is under way'], ['before it started here, in another worker']])(
  'a cancel ends the job that it names, asked %s, with an error that says so',
  async (when) => {
    const { values, cancel } = aQueue()
    if (when.startsWith('before')) cancel(['acme.2'])
    const run = cancellable(ACME, { values, lookMs: when.startsWith('before') ? 3_600_000 : 1 }, untilCancelled)
    cancel(['acme.2'])

    await expect(run).resolves.toMatchObject({ code: 'cancelled', message: expect.stringContaining('acme: cancelled') })
  },
)

test.each<[string, string | Error]>([
  ['a cancel of an earlier job', JSON.stringify({ jobs: ['acme.1'], askedAtMs: 0, untilMs: 0 })],
  ['a cancel of a newer version', '{"jobs":"all of them"}'],
  ['a queue that does not answer', new Error('lost')],
])('%s ends no run, and the queue is asked only while one is under way', async (_what, answer) => {
  let looks = 0
  const read = async () => {
    looks += 1
    if (answer instanceof Error) throw answer
    return answer
  }
  const aborted = await cancellable(ACME, { values: { read }, lookMs: 1 }, async (cancelled) => {
    await eventually(
      () => looks,
      (number) => number > 2,
    )
    return cancelled.aborted
  })
  const asked = looks
  for (let turn = 0; turn < 20; turn += 1) await nextTurn()

  expect(aborted).toBe(false)
  expect(looks).toBe(asked)
})

function aQueue() {
  const kept = new Map<string, string>()
  const cancel = (jobs: string[]) => kept.set('cancel:acme', JSON.stringify({ jobs, askedAtMs: 0, untilMs: 0 }))
  return { values: { read: async (name: string) => kept.get(name) }, cancel }
}

/** Work that ends only by a cancel, with its reason. */
function untilCancelled(cancelled: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (cancelled.aborted) resolve(cancelled.reason)
    cancelled.addEventListener('abort', () => resolve(cancelled.reason), { once: true })
  })
}
