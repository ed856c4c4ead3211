import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listMirroredOrganizations } from '../../src/copies/organizations.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { customers, START_MS } from '../support/builders.ts'
import { aMirrorFile, mirrorPages } from '../support/mirror-file.ts'

test('the organizations of a mirror are listed, and the file stays as it is', async () => {
  const mirror = await openMirror(aMirrorFile())
  await mirrorPages(mirror, [customers(1, 2)])
  await mirror.close()
  const before = readFileSync(mirror.file)

  expect(await listMirroredOrganizations(mirror.file)).toEqual([
    { organization: 'acme', active: 2, removed: 0, readAsOfMs: START_MS, retiredAtMs: undefined, isLeaving: false },
  ])
  expect(readFileSync(mirror.file).equals(before)).toBe(true)
})
