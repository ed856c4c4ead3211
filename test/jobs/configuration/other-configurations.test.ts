import { expect, onTestFinished, test, vi } from 'vitest'
import { compareConfigurations } from '../../../jobs/configuration.ts'

const LOOK_MS = 30_000

test('a worker that has ended is forgotten, and so is what it wrote', async () => {
  const { start, looks, values } = aQueue()
  const one = start('one', 'a'.repeat(64))
  const other = start('two', 'b'.repeat(64))
  await looks(12)
  other.compared.stop()
  await looks(4)

  expect(one.compared.problem()).toBeUndefined()
  expect([...values.keys()]).toEqual(['configuration:one#7#1'])
})

function aQueue() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const values = new Map<string, string>()
  const shared = {
    list: async () => new Map(values),
    write: async (name: string, value: string) => void values.set(name, value),
    delete: async (name: string) => void values.delete(name),
  }
  function start(machine: string, hash: string) {
    const warnings: unknown[] = []
    const started = { hash, warnings }
    const compared = compareConfigurations({
      values: shared,
      hash: () => started.hash,
      lookMs: LOOK_MS,
      log: Object({ warn: (facts: object) => warnings.push(facts) }),
      now: Date.now,
      self: `${machine}#7#1`,
    })
    onTestFinished(() => compared.stop())
    return Object.assign(started, { compared })
  }
  return { values, start, looks: (count: number) => vi.advanceTimersByTimeAsync(count * LOOK_MS) }
}
