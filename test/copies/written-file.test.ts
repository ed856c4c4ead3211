import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { afterPlacing, copyError, LeftUndone } from '../../src/copies/copy-error.ts'
import {
  beginFile,
  lockPlace,
  putInPlace,
  removeFile,
  removeIfPossible,
  removeLeftovers,
  writeTextFile,
} from '../../src/copies/written-file.ts'
import { makeFolder } from '../../src/machine/folders.ts'
import { failOnDisk, failToFlushFolders } from '../support/failing-disk.ts'
import { quickProgram } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('what killed writers left is removed by the next one that writes into the folder, whatever it was for', () => {
  const folder = temporaryFolder()
  const dead = ['', '-journal', '-wal', '-shm', '.sha256'].map(
    (end) => `.2026-01-05.csv.0123456789abcdef.unfinished${end}`,
  )
  const foreign = ['.writing', '.x.unfinished', 'x.0123456789abcdef.unfinished', '.x.012345678.unfinished']
  for (const name of [...dead, ...foreign]) writeFileSync(join(folder, name), 'customers')
  writeFileSync(join(folder, '.2026-01-04.csv.writing'), '')

  writeTextFile(join(folder, 'status.html'), 'text')

  expect(readdirSync(folder).toSorted()).toEqual([...foreign, 'status.html'].toSorted())
})

test('what another process writes at the moment stays, and its place is refused until it ends, however that is', async () => {
  const folder = temporaryFolder()
  const [file, mine] = [join(folder, 'theirs'), join(folder, 'mine')]
  const child = spawn(
    process.execPath,
    [...quickProgram(new URL('../support/writing-child.ts', import.meta.url)), file],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const [path = ''] = await once(createInterface({ input: child.stdout }), 'line')

  writeTextFile(mine, 'text')
  expect(readFileSync(String(path), 'utf8')).toBe('')
  expect(() => lockPlace(file, { waitMs: 0 })).toThrow('another process writes it at the moment')
  child.kill('SIGKILL')
  await once(child, 'exit')
  removeLeftovers(folder)

  expect(readdirSync(folder)).toEqual(['mine'])
})

test('a file that could not be finished leaves what was there, and nothing else', () => {
  const file = join(temporaryFolder(), 'customers.csv')
  writeTextFile(file, 'before')
  const unfinished = beginFile(file)
  writeFileSync(unfinished.path, 'half')
  unfinished.end()

  expect(readFileSync(file, 'utf8')).toBe('before')
  expect(readdirSync(join(file, '..'))).toEqual(['customers.csv'])
})

test.each([
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path)],
  ['a file with content', (path: string) => writeFileSync(path, 'of someone')],
])('%s that is planted as a lock stops nothing, and two writers still exclude each other', (_, plant) => {
  const file = join(temporaryFolder(), 'customers.csv')
  plant(join(file, '..', '.customers.csv.writing'))
  const lock = lockPlace(file)

  expect(() => lockPlace(file, { waitMs: 0 })).toThrow('another process writes it')
  lock.release()
  lockPlace(file, { waitMs: 0 }).release()
  expect(readdirSync(join(file, '..'))).toEqual(['.customers.csv.writing'])
})

test.runIf(process.getuid?.() === 0)('what root writes belongs to the owner of the folder', () => {
  const folder = temporaryFolder()
  chownSync(folder, 54_321, 54_322)
  const below = join(folder, 'made', 'here')
  makeFolder(below)
  const file = join(below, 'status.html')
  writeTextFile(file, 'text')

  for (const path of [below, join(below, '..'), file])
    expect(statSync(path)).toMatchObject({ uid: 54_321, gid: 54_322 })
})

/** A file that is there, and another one that is finished. */
function twoFiles(): { finished: string; place: string } {
  const folder = temporaryFolder()
  const [finished, place] = [join(folder, 'finished'), join(folder, 'place')]
  writeFileSync(finished, 'new')
  writeFileSync(place, 'old')
  return { finished, place }
}

test('a file that could not get its place leaves what is there, and the error is that of the system', () => {
  const { finished, place } = twoFiles()
  failOnDisk('renameSync', () => true)

  expect(() => putInPlace(finished, place)).toThrow(expect.objectContaining({ code: 'EIO', syscall: 'rename' }))
  expect(readFileSync(place, 'utf8')).toBe('old')
})

test('a file whose place the disk did not confirm is said to be in it', () => {
  const { finished, place } = twoFiles()
  failToFlushFolders()

  expect(() => putInPlace(finished, place)).toThrow(
    /^is in its place, but the disk failed before it confirmed that: after a power failure/,
  )
  expect(readFileSync(place, 'utf8')).toBe('new')
  expect(existsSync(finished)).toBe(false)
})

test('a file system that flushes no folders is no failure', () => {
  const { finished, place } = twoFiles()
  failToFlushFolders('EINVAL')

  putInPlace(finished, place)

  expect(readFileSync(place, 'utf8')).toBe('new')
})

function aFile(name = 'file'): string {
  const path = join(temporaryFolder(), name)
  writeFileSync(path, '')
  return path
}

test('a file is removed, and one that is not there is no failure', () => {
  const file = aFile()
  for (const path of [file, file, join(file, '..', 'none')]) removeFile(path)
  expect(existsSync(file)).toBe(false)
})

test('a file that a disk keeps is an error with the code of the system', () => {
  failOnDisk('unlinkSync', () => true, 'EROFS')
  expect(() => removeFile(aFile())).toThrow(expect.objectContaining({ code: 'EROFS', syscall: 'unlink' }))
})

test('what is of no use any more is removed as far as the disk lets it', () => {
  const [kept, removed] = [aFile('kept'), aFile('removed')]
  failOnDisk('unlinkSync', (path) => path === kept)

  removeIfPossible([kept, removed])

  expect([kept, removed].map((path) => existsSync(path))).toEqual([true, false])
})

test('what the system refuses after a file is in its place is said to be left', () => {
  const refused = () => afterPlacing('the digest is old', () => readFileSync('/nowhere/at/all'))

  expect(refused).toThrow(LeftUndone)
  expect(() => {
    try {
      refused()
    } catch (error) {
      throw copyError(error, '/out/readers.db')
    }
  }).toThrow(
    /^\/out\/readers\.db: is in its place, but the digest is old: no such file or directory \(open, ENOENT\)\. Check the name/,
  )
})

test('a defect of this program is no fault of the disk', () => {
  const defect = new TypeError('x is not a function')
  const failed = () =>
    afterPlacing('the digest is old', () => {
      throw defect
    })

  expect(failed).toThrow(defect)
})
