import { join } from 'node:path'
import { inject, onTestFinished, test, expect, describe } from 'vitest'
import { openBackend } from '../../../jobs/queue/backend.ts'
import { aQueue, isEmbedded, prepareQueue } from '../../support/jobs-workplace.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

describe.each(isEmbedded ? ['embedded'] : [inject('queueAddress'), 'embedded'])('shared values in %s', (kind) => {
  test('are read, listed, written over and deleted by name', async () => {
    const { values } = await aBackend(aQueue(kind))
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
    expect([...(await values.list('')).keys()].toSorted()).toEqual(['pause:beta', 'pause_:gamma%'])
  })

  test('are replaced only where they are as expected, by one of several writers', async () => {
    const { values } = await aBackend(aQueue(kind))
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

  test('hold nothing of the probe for a full queue', async () => {
    const backend = await aBackend(aQueue(kind))
    await backend.write()
    expect(await backend.values.list('')).toEqual(new Map())
  })
})

async function aBackend(queue: string) {
  const folder = temporaryFolder()
  if (queue === 'embedded') prepareQueue(join(folder, 'queue'))
  const backend = await openBackend(queue, { folder })
  onTestFinished(() => backend.close())
  return backend
}
