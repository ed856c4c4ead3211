import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath, pid } from 'node:process'
import { expect, test } from 'vitest'
import { makeFolder } from '../src/machine/folders.ts'
import { isGone, nameOfProcess } from '../src/machine/process-name.ts'
import { temporaryFolder } from './support/temp-folder.ts'

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

test('the space of the youngest objects stays small, where V8 would have it grow to 128 MB', () => {
  const module = new URL('../src/machine/memory.ts', import.meta.url).href
  const { stdout } = spawnSync(execPath, ['--input-type=module', '--eval', MANY_YOUNG, module], { encoding: 'utf8' })

  expect(JSON.parse(stdout)).toBeLessThan(64)
})

/** Makes objects of which many live for a moment, and says how many MB V8 has for them in the end. */
const MANY_YOUNG = `
  import { setImmediate as nextTurn } from 'node:timers/promises'
  import v8 from 'node:v8'
  ;(await import(process.argv[1])).keepYoungSpaceSmall()
  for (let turn = 0; turn < 60; turn += 1, await nextTurn()) globalThis.kept = Array.from({ length: 50_000 }, (_, at) => ({ at }))
  console.log(v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1024 ** 2)`

/** The number of a process that has ended. */
function goneProcess(): number {
  return spawnSync('true').pid
}
