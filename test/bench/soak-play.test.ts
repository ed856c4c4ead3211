import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { playEvents } from '../../bench/soak/play.ts'
import type { World } from '../../bench/soak/world.ts'

type Life = World['workers'][number]['lives'][number]

test.each(['kill-worker', 'stop-worker'] as const)(
  'a worker that had ended by itself before %s, and was started again since, is not waited for',
  async (kind) => {
    const restarted = aLife({ endedAtMs: undefined, ended: new Promise<void>(() => {}) })
    const worker = { name: 'worker-1', config: '', lives: [aLife({ endedAtMs: 1 })] }
    const event = { kind, target: 'worker-1', atMs: 0, untilMs: 20 }
    const say = () => {
      worker.lives.push(restarted)
    }
    const world = { workers: [worker], organizations: [], troubles: [], now: Date.now }
    const signal = new AbortController().signal

    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What is played of the world stands above.
    const playing = playEvents(world as unknown as World, [event], { signal, say: () => queueMicrotask(say) })
    const end = await Promise.race([playing.then(() => 'ended'), sleep(20_000, 'waits', { ref: false })])

    expect(end).toBe('ended')
    expect(worker.lives).toHaveLength(2)
    expect(restarted.endsAs).toBeUndefined()
  },
)

function aLife(parts: Partial<Life>): Life {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Neither of them has a process.
  return { ...{ endsAs: undefined, ended: Promise.resolve(), isFrozen: false }, ...parts } as Life
}
