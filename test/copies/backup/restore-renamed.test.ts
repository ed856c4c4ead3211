import { expect, test } from 'vitest'
import { replacedMirrors } from '../../../src/copies/restore.ts'
import { writeFor } from '../../../src/copies/written-file.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'

test('what a killed restore or move left beside the mirror is named', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))

  await writeFor(mirror.file, async ({ path }) => {
    expect(replacedMirrors(mirror.file)).toEqual([path])
  })
  expect(replacedMirrors(mirror.file)).toEqual([])
})
