import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openBackend } from '../../../jobs/queue/backend.ts'
import type { Backend } from '../../../jobs/queue/port.ts'
import { takeTurn } from '../../../jobs/queue/shared-turns.ts'
import { aQueue, isEmbedded, prepareQueue } from '../../support/jobs-workplace.ts'

const HOUR_MS = 3_600_000

describe.each(isEmbedded ? ['embedded'] : [inject('queueAddress'), 'embedded'])('shared values in %s', (kind) => {
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-'))
  let backend: Backend

  /** One for all of them: to open the embedded queue takes most of a second of a processor. */
  beforeAll(async () => {
    if (kind === 'embedded') prepareQueue(join(folder, 'queue'))
    if (kind === 'embedded') chmodSync(join(folder, 'queue'), 0o755)
    backend = await openBackend(aQueue(kind), { folder })
  })

  afterAll(async () => {
    await backend.close()
    rmSync(folder, { recursive: true })
  })

  if (kind === 'embedded') {
    test('are in a private folder, which is not opened a second time meanwhile', async () => {
      expect(statSync(join(folder, 'queue')).mode & 0o777).toBe(0o700)
      await expect(openBackend('embedded', { folder })).rejects.toMatchObject({ code: 'queue' })
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
    expect(await values.list('pause:')).toEqual(
      new Map([
        ['pause:acme', 'until six'],
        ['pause:beta', 'for ever'],
      ]),
    )
    expect(await values.list('pause_')).toEqual(new Map([['pause_:gamma%', 'it’s a \\ "text" ✓']]))
    await values.delete('pause:acme')
    await values.delete('pause:nothing')
    expect([...(await values.list('pause')).keys()].toSorted()).toEqual(['pause:beta', 'pause_:gamma%'])
  })

  test('are replaced only where they are as expected, by one of several writers', async () => {
    const { values } = backend
    const race = (before: string | undefined) =>
      Promise.all(['one', 'two', 'three'].map((value) => values.replace('accepted', before, value)))

    expect((await race(undefined)).filter(Boolean)).toHaveLength(1)
    expect((await race(undefined)).filter(Boolean)).toHaveLength(0)
    await values.write('accepted', 'four')
    expect((await race('four')).filter(Boolean)).toHaveLength(1)
    expect(await values.replace('accepted', 'four', 'five')).toBe(false)
    expect(await values.replace('other', 'four', 'five')).toBe(false)
    expect(await values.read('other')).toBeUndefined()
  })
  test('turns under a shared limit follow each other, whichever worker asks, and each limit has its own', async () => {
    const asked = { spacingMs: 60_000, pauseMs: 0 }
    const asking = Array.from({ length: 9 }, () => takeTurn(backend.values, 'vendor', asked))
    const turns = (await Promise.all(asking)).map(({ turnInMs }) => Math.round(turnInMs / 60_000))

    expect(new Set(turns)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8]))
    expect((await takeTurn(backend.values, 'another', asked)).turnInMs).toBe(0)
    // Turns further ahead than workers take them are not believed.
    await takeTurn(backend.values, 'vendor', { spacingMs: 5 * HOUR_MS, pauseMs: 0 })
    expect((await takeTurn(backend.values, 'vendor', { spacingMs: 1000, pauseMs: 0 })).turnInMs).toBe(0)
  })

  test('a pause of a shared limit holds for all, takes no turn, and is only lengthened', async () => {
    for (const pauseMs of [HOUR_MS, 1000]) await takeTurn(backend.values, 'paused', { spacingMs: 1000, pauseMs })
    const { pausedMs, turnInMs } = await takeTurn(backend.values, 'paused', { spacingMs: 1000, pauseMs: 0 })

    expect(Math.round(pausedMs / HOUR_MS)).toBe(1)
    expect(turnInMs).toBe(0)
  })
})
