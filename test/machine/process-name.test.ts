import { spawnSync } from 'node:child_process'
import { execPath, pid } from 'node:process'
import { expect, test } from 'vitest'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'

const machine = nameOfProcess().split('#')[0]

test('a process is named so that another can find out whether it is gone', () => {
  expect(nameOfProcess()).toContain(`#${pid}#`)
  expect(isGone(nameOfProcess())).toBe(false)
  expect(isGone(nameOfProcess(goneProcess()))).toBe(true)
})

test.runIf(process.platform === 'linux')('a process whose number was given to another is gone', () => {
  expect(isGone(nameOfProcess().replace(/#\d+$/, '#1'))).toBe(true)
})

test.each([
  ['that lives', pid, false],
  ['that is gone', goneProcess(), true],
])('a process %s is known by its number alone where its start is not', (_, id, gone) => {
  expect(isGone(`${machine}#${id}`)).toBe(gone)
  expect(isGone(`${machine}#${id}#`)).toBe(gone)
})

test.each(['', 'no process named', `elsewhere.example.com#${pid}#1`, `elsewhere.example.com#${goneProcess()}`])(
  'whether %j is gone cannot be seen',
  (name) => {
    expect(isGone(name)).toBeUndefined()
  },
)

/** The number of a process that has ended. */
function goneProcess(): number {
  return spawnSync(execPath, ['--version']).pid
}
