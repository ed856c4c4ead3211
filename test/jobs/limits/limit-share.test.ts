import { expect, test } from 'vitest'
import { LimitShare } from '../../../jobs/limits/limit-share.ts'
import type { Reserved, Wanted } from '../../../jobs/limits/shared-limits.ts'

test('a pause is reported once, and neither a shorter one nor the same', async () => {
  const { share, asked } = aShare()
  share.pauseUntil(60_000)
  share.pauseUntil(10_000)
  share.pauseUntil(60_000)
  await turn()
  await share.reserve(1)

  expect(asked.map(({ pauseMs }) => pauseMs)).toEqual([60_000, 0])
})

test('a pause that begins while a question is under way is reported with the next one too, until one has been answered', async () => {
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { share, asked } = aShare((question) => answers[question]?.promise)
  share.pauseUntil(10_000)
  share.pauseUntil(60_000)
  answers[0]?.resolve()
  await turn()
  const third = share.reserve(1)
  answers[1]?.resolve()
  await third
  await share.reserve(1)

  expect(asked.map(({ pauseMs }) => pauseMs)).toEqual([10_000, 60_000, 60_000, 0])
})

test('what an answer says is counted from the middle between the question and the answer, by the clock of this worker', async () => {
  let nowMs = 0
  const { share } = aShare(
    async () => void (nowMs += 400),
    () => nowMs,
  )

  expect(await share.reserve(1)).toMatchObject({ firstInMs: 800, pausedMs: 4800 })
})

/** A share of a limit whose questions are answered when `until` ends. */
function aShare(until: (question: number) => Promise<void> | undefined = async () => {}, monotonicMs = () => 0) {
  const asked: Wanted[] = []
  const reserve = async (_name: string, wanted: Wanted): Promise<Reserved> => {
    const question = asked.push(wanted) - 1
    await until(question)
    return { turns: wanted.turns, firstInMs: 1000, pausedMs: 5000, workers: 1 }
  }
  const settings = { name: 'vendor', spacingMs: 100, worker: 'one', monotonicMs, lookMs: 2000 }
  return { share: new LimitShare({ ...settings, limits: { reserve } }), asked }
}

async function turn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  setImmediate(resolve)
  await promise
}
