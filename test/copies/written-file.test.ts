import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { lockPlace, removeLeftovers, writeTextFile } from '../../src/copies/written-file.ts'
import { makeFolder } from '../../src/machine/folders.ts'
import { failOnDisk } from '../support/failing-disk.ts'
import { childProgram } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/mirror-file.ts'

test('what killed writers left is removed by the next one that writes into the folder, whatever it was for', () => {
  const folder = temporaryFolder()
  const dead = ['', '-journal', '-wal', '-shm'].map((end) => `.2026-01-05.csv.0123456789abcdef.unfinished${end}`)
  const foreign = ['.writing', '.x.unfinished', 'x.0123456789abcdef.unfinished', '.x.012345678.unfinished']
  for (const name of [...dead, ...foreign]) writeFileSync(join(folder, name), 'customers')
  writeFileSync(join(folder, '.2026-01-04.csv.writing'), '')

  writeTextFile(join(folder, 'status.html'), 'text')

  expect(readdirSync(folder).toSorted()).toEqual([...foreign, 'status.html'].toSorted())
})

test('what another process writes at the moment stays, and its place is refused until it ends, however that is', async () => {
  const folder = temporaryFolder()
  const [file, mine] = [join(folder, 'theirs'), join(folder, 'mine')]
  const child = spawn(process.execPath, childProgram('write', file), { stdio: ['ignore', 'pipe', 'inherit'] })
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

test('a file takes its place when the disk has confirmed all of it, and not before', () => {
  const file = join(temporaryFolder(), 'status.html')
  writeTextFile(file, 'before')
  failOnDisk('fsyncSync', () => true)

  expect(() => writeTextFile(file, 'after')).toThrow('EIO')
  expect(readFileSync(file, 'utf8')).toBe('before')
})
