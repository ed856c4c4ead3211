import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openBackend } from '../../../jobs/queue/backend.ts'
import type { Backend } from '../../../jobs/queue/port.ts'
import { anotherWorker, aQueue, isEmbedded, prepareQueue } from '../../support/jobs-workplace.ts'
import { HOUR_MS } from '../../support/builders.ts'

/** To open the embedded queue takes most of a second of a processor: beside another one it is for a deep run. */
const KINDS = [inject('queueAddress'), 'embedded'].slice(isEmbedded ? 1 : 0, inject('isDeep') || isEmbedded ? 2 : 1)

describe.each(KINDS)('shared values in %s', (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-'))
  const queue = join(folder, 'queue')
  let backend: Backend

  /** One for all of them: to open the embedded queue takes most of a second of a processor. */
  beforeAll(async () => {
    if (kind === 'embedded') {
      prepareQueue(queue)
      for (const each of [queue, join(queue, 'postgres')]) chmodSync(each, 0o755)
      chmodSync(join(queue, 'postgres', 'PG_VERSION'), 0o666)
      // As a process leaves it that is killed while PostgreSQL makes its lock file.
      writeFileSync(join(queue, 'postgres', 'postmaster.pid'), '')
    }
    backend = await openBackend(aQueue(kind), { folder })
  })

  afterAll(async () => {
    await backend.close()
    rmSync(folder, { recursive: true })
  })

  if (kind === 'embedded') {
    test('are in a private folder of private files, also those of one from before, which is not opened a second time meanwhile', async () => {
      const found = readdirSync(queue, { recursive: true, encoding: 'utf8' })
      const open = ['', ...found].filter((name) => (statSync(join(queue, name)).mode & 0o077) !== 0)

      expect(found.length).toBeGreaterThan(400)
      expect(open).toEqual([])
      await expect(openBackend('embedded', { folder })).rejects.toMatchObject({ code: 'queue' })
    })

    test('are in a queue whose workers look at the clock every five seconds: the machine may have slept since', () => {
      const worker = anotherWorker(backend)
      const sleepSeconds: unknown = Reflect.get(worker, 'getBlockTimeout').call(worker, Date.now() + 3_600_000)

      expect(sleepSeconds).toBe(5)
    })
  }

  test('are read, listed, written over and deleted by name', async () => {
    const { values } = backend
    await values.write('pause:acme', 'until noon')
    await values.write('pause:beta', 'for ever')
    await values.write('pause_:gamma%', 'it’s a \\ "text" ✓')
    await values.write('pause:acme', 'until six')

    expect(await values.read('pause:acme')).toBe('until six')
    expect(await values.read('pause:nothing')).toBeUndefined()
    const pauses = { 'pause:acme': 'until six', 'pause:beta': 'for ever' }
    expect(await values.list('pause:')).toEqual(new Map(Object.entries(pauses)))
    expect(await values.list('pause_')).toEqual(new Map([['pause_:gamma%', 'it’s a \\ "text" ✓']]))
    await values.delete('pause:acme')
    await values.delete('pause:nothing')
    expect([...(await values.list('pause')).keys()].toSorted()).toEqual(['pause:beta', 'pause_:gamma%'])
  })

  test('are added only where there is none, by one of several writers', async () => {
    const { values } = backend
    const race = () => Promise.all(['one', 'two', 'three'].map((value) => values.add('accepted', value)))

    expect((await race()).filter(Boolean)).toHaveLength(1)
    expect((await race()).filter(Boolean)).toHaveLength(0)
  })

  const take = async (limit: string, spacingMs: number, pauseMs = 0): Promise<{ turnInMs: number; pausedMs: number }> =>
    JSON.parse(await backend.values.takeTurn(limit, spacingMs, pauseMs))

  test('turns under a shared limit follow each other, whichever worker asks, and each limit has its own', async () => {
    const asking = Array.from({ length: 9 }, () => take('vendor', 60_000))
    const turns = (await Promise.all(asking)).map(({ turnInMs }) => Math.round(turnInMs / 60_000))

    expect(new Set(turns)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]))
    expect((await take('another', 60_000)).turnInMs).toBe(0)
    // Turns further ahead than workers take them are not believed.
    await take('vendor', 5 * HOUR_MS)
    expect((await take('vendor', 1000)).turnInMs).toBe(0)
  })

  test('a pause of a shared limit holds for all, takes no turn, and is only lengthened', async () => {
    for (const pauseMs of [HOUR_MS, 1000]) await take('paused', 1000, pauseMs)
    const { pausedMs, turnInMs } = await take('paused', 1000)

    expect(Math.round(pausedMs / HOUR_MS)).toBe(1)
    expect(turnInMs).toBe(0)
  })
})
