import { spawnSync } from 'node:child_process'
import { execPath, pid } from 'node:process'
import { expect, test } from 'vitest'
import { isOfGoneProcess, isOwnLock, lockName } from '../../../jobs/queue/lock-names.ts'

const [machine, , start, boot] = lockName().split('#')
const gone = spawnSync(execPath, ['--version']).pid

test('a lock names its process', () => {
  expect(lockName().split('#')[1]).toBe(String(pid))
  expect(isOwnLock(`${lockName()}#e1b6:7`)).toBe(true)
  expect(isOwnLock(`${machine}#${pid}#${start}#another-boot`)).toBe(false)
  expect(isOwnLock(`${machine}#${pid}1#${start}#${boot}`)).toBe(false)
})

test.runIf(process.platform === 'linux').each([
  ['this process', lockName(), false],
  ['a process of this machine that has ended', `${machine}#${gone}#1#${boot}`, true],
  ['a process whose number another has now', `${machine}#${pid}#1#${boot}`, true],
  ['a process of another machine with the same name', `${machine}#${gone}#1#0c9f3b0e-another-boot`, false],
  ['a process of another container', `${machine}1#1#1#${boot}`, false],
  ['a process on a machine that does not name its start', `${machine}#${gone}#1#`, false],
  ['a process that names only itself', `${machine}#${gone}#1`, false],
  ['an older version', '6f1c0e7e-2a3a-4f4f-9d8e-0d3f8f2f6f10:3', false],
  ['nothing', '', false],
])('a lock of %s', (_what, lock, isGone) => {
  expect(isOfGoneProcess(lock)).toBe(isGone)
  expect(isOfGoneProcess(`${lock}#6f1c0e7e-2a3a:3`)).toBe(isGone)
})
