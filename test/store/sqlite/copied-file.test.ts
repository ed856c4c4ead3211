import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/store/mirror.ts'
import { makeNight } from '../../support/alike-nights.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, aMirrorFile, tamper, valueOf } from '../../support/mirror-file.ts'

const told = { scan: 'chain', concurrency: 1 } as const
const list = customers(1, 30)

test.each(['copied as a file', 'copied by SQLite'])(
  'a mirror %s knows its pages and records as before',
  async (how) => {
    const [file, copied] = [aMirrorFile(), aMirrorFile()]
    const mirror = await openMirror(file)
    for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
    await mirror.close()
    if (how === 'copied as a file') copyFileSync(file, copied)
    else tamper(file, 'VACUUM INTO ?', copied)

    const copy = await aMirror(copied)
    expect(keyOf(copied)).toBe(keyOf(file))
    expect((await makeNight(copy, 1, { list, told })).known).toBe(5)
    const { recognized, report } = await makeNight(copy, 2, { list: [...customers(101, 125), ...list], told })
    expect(recognized).toBeGreaterThan(0)
    expect(report).toMatchObject({ proof: 'settled', inserted: 25, updated: 0 })
  },
)

function keyOf(file: string): unknown {
  return valueOf(file, 'SELECT hex(key) FROM fingerprint_key')
}
