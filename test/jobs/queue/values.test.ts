import { chmodSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openBackend } from '../../../jobs/queue/backend.ts'
import type { Backend } from '../../../jobs/queue/port.ts'
import { aQueue, isEmbedded, prepareQueue } from '../../support/jobs-workplace.ts'

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

  test('are added only where there is none, by one of several writers', async () => {
    const { values } = backend
    const race = () => Promise.all(['one', 'two', 'three'].map((value) => values.add('accepted', value)))

    expect((await race()).filter(Boolean)).toHaveLength(1)
    expect((await race()).filter(Boolean)).toHaveLength(0)
  })
})
