import { spawnSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pid } from 'node:process'
import { expect, test } from 'vitest'
import { makeFolder } from '../src/machine/folders.ts'
import { isGone, nameOfProcess } from '../src/machine/process-name.ts'
import { temporaryFolder } from './support/temp-folder.ts'

test('a folder is made with those above it, and all of them are private', () => {
  const folder = join(temporaryFolder(), 'one', 'two')
  makeFolder(folder)
  makeFolder(folder)

  for (const made of [folder, dirname(folder)]) expect(statSync(made).mode & 0o777).toBe(0o700)
})

test.each([
  ['where nothing can be made', () => '/proc/none/made', 'ENOENT'],
  ['below a file', () => join(aFile(), 'one', 'two'), 'ENOTDIR'],
])('a folder %s is an error at once', (_, place, code) => {
  expect(() => makeFolder(place())).toThrow(expect.objectContaining({ code }))
})

function aFile(): string {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  return file
}

test('a process is named so that another can find out whether it is gone', () => {
  expect(nameOfProcess()).toContain(`#${pid}#`)
  expect(isGone(nameOfProcess())).toBe(false)
  expect(isGone(nameOfProcess(goneProcess()))).toBe(true)
})

test.runIf(process.platform === 'linux')('a process whose number was given to another is gone', () => {
  expect(isGone(nameOfProcess().replace(/#\d+$/, '#1'))).toBe(true)
})

test.each(['', 'no process named', `elsewhere.example.com#${pid}#1`, `elsewhere.example.com#${goneProcess()}`])(
  'whether %j is gone cannot be seen',
  (name) => {
    expect(isGone(name)).toBeUndefined()
  },
)

/** The number of a process that has ended. */
function goneProcess(): number {
  return spawnSync('true').pid
}
