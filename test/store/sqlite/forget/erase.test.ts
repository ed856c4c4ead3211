import { expect, test } from 'vitest'
import { eraseTraces } from '../../../../src/store/sqlite/purge.ts'
import { customers } from '../../../support/builders.ts'
import { failOnDisk } from '../../../support/failing-disk.ts'
import { aMirror } from '../../../support/mirror-file.ts'
import { night } from '../../nights.ts'

test('a disk that fails while the bytes of a customer are looked for leaves them for another time, and is no defect', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  await mirror.close()
  const traces = { id: ['00000000-0000-4000-8000-0000000000ff'], values: [] }
  const repair = failOnDisk('openSync', (path, flags) => path === mirror.file && flags === 'r')

  expect(eraseTraces(mirror.file, traces)).toBe('busy')

  repair()
  expect(eraseTraces(mirror.file, traces)).toBe('erased')
})
