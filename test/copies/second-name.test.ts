import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { giveSecondName, moveAside, replacing } from '../../src/copies/older-files.ts'
import { putInPlace } from '../../src/copies/written-file.ts'
import { failOnDisk, failToFlushFolders } from '../support/failing-disk.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

/** A file that is to be replaced, with one beside it that goes with it, and the file that is to take its place. */
function aFolder() {
  const folder = temporaryFolder()
  const place = join(folder, 'place')
  const kept = join(folder, 'kept')
  const finished = join(folder, 'finished')
  for (const path of [place, `${place}-wal`]) writeFileSync(path, 'old')
  writeFileSync(finished, 'new')
  const replace = () =>
    replacing((names) => {
      names.push(giveSecondName(place, kept))
      names.push(moveAside(`${place}-wal`, `${kept}-wal`))
      putInPlace(finished, place)
    })
  return { place, kept, finished, replace }
}

const namesIn = (path: string) => readdirSync(dirname(path)).toSorted()
/** As a file system without hard links. */
const withoutLinks = () => failOnDisk('linkSync', () => true, 'EPERM')
const FILE_SYSTEMS: [which: string, prepare: () => unknown][] = [
  ['with hard links', () => {}],
  ['without hard links', withoutLinks],
]

test.each(FILE_SYSTEMS)('a replaced file keeps its second name, on a file system %s', (_which, prepare) => {
  const { place, kept, replace } = aFolder()
  prepare()

  replace()

  expect([place, kept, `${kept}-wal`].map((path) => readFileSync(path, 'utf8'))).toEqual(['new', 'old', 'old'])
  expect(namesIn(place)).toEqual(['kept', 'kept-wal', 'place'])
})

test.each(FILE_SYSTEMS)(
  'a file that was not replaced is what and where it was, on a file system %s',
  (_which, prepare) => {
    const { place, finished, replace } = aFolder()
    prepare()
    failOnDisk('renameSync', (from) => from === finished)

    expect(replace).toThrow(expect.objectContaining({ code: 'EIO' }))

    expect(readFileSync(place, 'utf8')).toBe('old')
    expect(namesIn(place)).toEqual(['finished', 'place', 'place-wal'])
  },
)

test('a file that was replaced keeps its second name where the disk did not confirm that', () => {
  const { place, replace } = aFolder()
  failToFlushFolders()

  expect(replace).toThrow(/^is in its place, but/)
  expect(namesIn(place)).toEqual(['kept', 'kept-wal', 'place'])
})

test('a file that does not get its place back is named with the name that it has', () => {
  const { place, kept, finished, replace } = aFolder()
  withoutLinks()
  failOnDisk('renameSync', (from) => [finished, kept].includes(String(from)))

  expect(replace).toThrow(
    expect.objectContaining({
      code: 'denied',
      message: `${place}: could not be replaced, and is ${kept} now, because the disk failed before it had its name again. Check the disk, then rename it. (EIO)`,
    }),
  )
})

test('a file gets its place back although one beside it does not, which is named', () => {
  const { place, kept, finished, replace } = aFolder()
  withoutLinks()
  failOnDisk('renameSync', (from) => [finished, `${kept}-wal`].includes(String(from)))

  expect(replace).toThrow(`${place}-wal: could not be replaced, and is ${kept}-wal now`)

  expect(readFileSync(place, 'utf8')).toBe('old')
})

test('a second name stays where the rename that was reported as failed was done', () => {
  const { place, kept, finished } = aFolder()
  const replace = () =>
    replacing((names) => {
      names.push(giveSecondName(place, kept))
      renameSync(finished, place)
      throw new Error('ESTALE')
    })

  expect(replace).toThrow('ESTALE')

  expect(readFileSync(kept, 'utf8')).toBe('old')
})

test('a second name that another file has is refused', () => {
  const { place, kept } = aFolder()
  renameSync(`${place}-wal`, kept)
  expect(() => giveSecondName(place, kept)).toThrow(expect.objectContaining({ code: 'EEXIST' }))
})
