import { readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { customers } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { night } from '../nights.ts'

test.runIf(process.platform === 'linux')(
  'what marks thousands of customers writes each page a few times, and no copies into temporary files',
  async () => {
    const mirror = await aMirror()
    await night(mirror, 1, customers(1, 4000))
    await night(mirror, 2, customers(1, 4000))

    const before = writtenBytes()
    const report = await night(mirror, 3, customers(1, 100), { rule: { after: 2, maxShare: 1 } })
    const written = writtenBytes() - before

    expect(report).toMatchObject({ missing: 3900, held: 0 })
    expect(written).toBeLessThan(20 * statSync(mirror.file).size)
  },
)

/** All that this process has written so far, to files or elsewhere. Linux counts it. */
function writtenBytes(): number {
  return Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}
