import { expect, onTestFinished, test, vi } from 'vitest'
import { compareConfigurations } from '../../../jobs/configuration.ts'

const LOOK_MS = 30_000

test('a worker that has ended is forgotten, and so is what it wrote', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const kept = new Map<string, string>()
  const values = {
    list: async () => new Map(kept),
    write: async (name: string, value: string) => void kept.set(name, value),
    delete: async (name: string) => void kept.delete(name),
  }
  const [one, other] = ['a', 'b'].map((hash) => {
    const common = { values, lookMs: LOOK_MS, log: { warn: () => {} }, now: Date.now }
    return compareConfigurations({ ...common, hash: () => hash.repeat(64), self: `${hash}#7#1` })
  })
  onTestFinished(() => one?.stop())
  await vi.advanceTimersByTimeAsync(12 * LOOK_MS)
  const meanwhile = one?.problem()
  other?.stop()
  await vi.advanceTimersByTimeAsync(4 * LOOK_MS)

  expect(meanwhile).toContain('give all workers the same file')
  expect(one?.problem()).toBeUndefined()
  expect([...kept.keys()]).toEqual(['configuration:a#7#1'])
})
