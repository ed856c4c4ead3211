import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { watchProgress } from '../../bench/soak/progress.ts'

/** Two workers and a Redis, of which it is only seen what was killed. */
function watched(lastMs: number, exit: (code: number) => void) {
  const killed: string[] = []
  const said: string[] = []
  const life = (name: string) => ({ process: { kill: (signal: string) => killed.push(`${name} by ${signal}`) } })
  const world = {
    workers: ['worker-1', 'worker-2'].map((name) => ({ lives: [life(`${name}.1`), life(`${name}.2`)] })),
    redis: { kill: async () => void killed.push('Redis') },
    postgres: undefined,
    folder: 'the folder',
  }
  const progress = watchProgress(world, { lastMs, seed: '7', say: (text) => said.push(text), exit })
  return { progress, killed, said }
}

describe('a soak that does not end', () => {
  test('says what it was doing and what is open, kills all its processes, and exits with 1', async () => {
    let soak: ReturnType<typeof watched> | undefined
    const code = await new Promise<number>((resolve) => {
      soak = watched(1, resolve)
      soak.progress.doing('coming to rest')
      setTimeout(() => {}, 60_000).unref()
    })

    expect(code).toBe(1)
    expect(soak?.killed.toSorted()).toEqual(
      ['Redis', ...['1.1', '1.2', '2.1', '2.2'].map((life) => `worker-${life} by SIGKILL`)].toSorted(),
    )
    expect(soak?.said).toHaveLength(1)
    expect(soak?.said[0]).toMatch(
      /^The soak FAILED: .* while coming to rest\. Still open: .*Seed 7; .* kept in the folder\n$/,
    )
  })

  test('and one that ended says nothing', async () => {
    const { progress, killed, said } = watched(1, () => {
      throw new Error('It has ended by itself')
    })
    progress.stop()
    await sleep(20)

    expect([...killed, ...said]).toEqual([])
  })
})
