import { expect, onTestFinished, test, vi } from 'vitest'
import { customers } from '../support/builders.ts'
import { aReading, pagesOf, untilAborted } from '../support/listed-source.ts'

test('a request still open five seconds after a stop is ended, and received pages are kept', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stop = new AbortController()
  const hanging = Promise.withResolvers<AbortSignal>()
  const { saved, run } = aReading(customers(1, 500), {
    concurrency: 1,
    stop: stop.signal,
    readPage: ({ page }, _, { signal }) => {
      if (page < 3) return undefined
      hanging.resolve(signal)
      return untilAborted(signal)
    },
  })
  const ended = run.then(
    () => 'well',
    () => 'early',
  )
  const signal = await hanging.promise

  stop.abort()
  await vi.advanceTimersByTimeAsync(4999)
  expect(signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)

  expect(await ended).toBe('early')
  expect(signal.aborted).toBe(true)
  expect(pagesOf(saved)).toEqual([1, 2])
})

test('a reading that has ended leaves no timer behind, stopped or not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stop = new AbortController()
  const stopped = aReading(customers(1, 500), { stop: stop.signal, save: async () => stop.abort() })
  await expect(stopped.run).rejects.toThrow('aborted')
  await aReading(customers(1, 50), { stop: stop.signal }).run.catch(() => undefined)

  expect(vi.getTimerCount()).toBe(0)
})

test('aborting a reading ends open requests with the given reason', async () => {
  const abort = new AbortController()
  const taken = new Error('another run took over')
  const { saved, run } = aReading(customers(1, 500), {
    abort: abort.signal,
    readPage: async ({ page }, _, { signal }) => {
      if (page === 1) return undefined
      if (page === 4) abort.abort(taken)
      return untilAborted(signal)
    },
  })

  await expect(run).rejects.toBe(taken)

  expect(pagesOf(saved)).toEqual([1])
})

test('a reading that was aborted before its start sends no request', async () => {
  const { asked, run } = aReading(customers(1, 50), { abort: AbortSignal.abort(new Error('taken over')) })

  await expect(run).rejects.toThrow('taken over')

  expect(asked).toEqual([])
})
