import { expect, test } from 'vitest'
import { replacedMirrors } from '../../../src/reading/backup/replaced-mirrors.ts'
import { withUnfinishedFile } from '../../../src/reading/backup/unfinished-file.ts'
import { customers } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { night } from '../../store/nights.ts'

test.each(['restore', 'move'] as const)('what a killed %s left beside the mirror is named', async (what) => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))

  await withUnfinishedFile(mirror.file, what, async ({ path }) => {
    expect(replacedMirrors(mirror.file)).toEqual([path])
  })
  expect(replacedMirrors(mirror.file)).toEqual([])
})
