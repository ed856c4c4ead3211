import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { execPath, pid } from 'node:process'
import { expect, test } from 'vitest'
import { makeFolder } from '../src/machine/folders.ts'
import { isGone, nameOfProcess } from '../src/machine/process-name.ts'
import { written } from './support/commands.ts'
import { temporaryFolder } from './support/mirror-file.ts'

test.each([
  ['where nothing can be made', () => '/proc/none/made', 'ENOENT'],
  ['below a file', () => join(written(join(temporaryFolder(), 'file'), ''), 'one', 'two'), 'ENOTDIR'],
])('a folder %s is an error at once', (_, place, code) => {
  expect(() => makeFolder(place())).toThrow(expect.objectContaining({ code }))
})

test('a process is named so that another can find out whether it is gone, also where another has its number, and of no other', () => {
  expect(nameOfProcess()).toContain(`#${pid}#`)
  expect(isGone(nameOfProcess())).toBe(false)
  expect(isGone(nameOfProcess(spawnSync('true').pid))).toBe(true)
  if (process.platform === 'linux') expect(isGone(nameOfProcess().replace(/#\d+$/, '#1'))).toBe(true)
  const elsewhere = [`${pid}#1`, spawnSync('true').pid].map((end) => `elsewhere.example.com#${end}`)
  for (const name of ['', 'no process named', ...elsewhere]) expect(isGone(name), name).toBeUndefined()
})

test('the space of the youngest objects stays small, where V8 would have it grow to 128 MB', () => {
  expect(megabytesOf('new_space', MANY_YOUNG)).toBeLessThan(64)
})

test('older objects that are gone do not stay until they are several times as much as those that are left', () => {
  expect(megabytesOf('old_space', MANY_OLD)).toBeLessThan(250)
})

test('V8 looks for older objects that are gone a first time before they take what it would begin with', () => {
  const traced = outputOf(`lookForOldObjects()\n${MANY_OLD}`, '--trace-gc')
  expect(Number(/Mark-Compact ([\d.]+)/.exec(traced)?.[1])).toBeLessThan(90)
  // From then on V8 does as before.
  expect(traced.match(/Scavenge/g)?.length).toBeGreaterThan(25)
})

/** How many MB V8 has for a kind of objects in the end. */
function megabytesOf(space: string, program: string): number {
  const found = `v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === '${space}')`
  return Number(outputOf(`${program}\nconsole.log(${found}.space_size / 1024 ** 2)`))
}

/** What a program of a small heap says. In one thread, so that a busy machine changes nothing. */
function outputOf(program: string, ...options: string[]): string {
  const module = new URL('../src/machine/memory.ts', import.meta.url).href
  const whole = `
    import { setImmediate as nextTurn } from 'node:timers/promises'
    import v8 from 'node:v8'
    const { keepHeapSmall, lookForOldObjects } = await import(process.argv[1])
    keepHeapSmall()
    ${program}`
  const args = ['--single-threaded-gc', ...options, '--input-type=module', '--eval', whole, module]
  return spawnSync(execPath, args, { encoding: 'utf8' }).stdout
}

/** Makes objects of which many live for a moment. */
const MANY_YOUNG = `
  for (let turn = 0; turn < 60; turn += 1, await nextTurn()) globalThis.kept = Array.from({ length: 50_000 }, (_, at) => ({ at }))`

/** Keeps some 30 MB of objects, and lets the oldest of them go. */
const MANY_OLD = `
  const kept = (globalThis.kept = [])
  for (let turn = 0; turn < 2000; turn += 1, await nextTurn()) kept[turn % 200] = Array.from({ length: 5_000 }, (_, at) => ({ at }))`
