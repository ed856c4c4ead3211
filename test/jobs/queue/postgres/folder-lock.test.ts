import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lockFolder } from '../../../../jobs/queue/postgres/folder-lock.ts'
import { temporaryFolder } from '../../../support/temp-folder.ts'

test('a folder is given to one at a time', async () => {
  const folder = temporaryFolder()
  const lock = await lockFolder(folder)

  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'queue', message: expect.stringContaining('in use') })
  await lock.release()
  await (await lockFolder(folder)).release()

  expect(existsSync(join(folder, 'lock'))).toBe(false)
})

test('the lock of a process that was killed is taken over', async () => {
  const folder = temporaryFolder()
  const module = JSON.stringify(new URL('../../../../jobs/queue/postgres/folder-lock.ts', import.meta.url))
  const script = `import { lockFolder } from ${module}; await lockFolder(${JSON.stringify(folder)}); console.log('locked'); setInterval(() => {}, 1000)`
  const child = spawn(execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await expect(lockFolder(folder)).rejects.toThrow(/in use .+ to run several\.$/)
  child.kill('SIGKILL')
  await once(child, 'exit')

  const lock = await lockFolder(folder)

  expect(readFileSync(join(folder, 'lock'), 'utf8')).toContain(`#${process.pid}#`)
  await lock.release()
})

test('a number of a process that was given to another does not keep the lock', async () => {
  const folder = temporaryFolder()
  const lock = await lockFolder(folder)
  const holder = readFileSync(join(folder, 'lock'), 'utf8')
  await lock.release()
  // Same machine, same number, started at another time: as after a container was started again.
  writeFileSync(join(folder, 'lock'), holder.replace(/#\d+$/, '#1'))

  await (await lockFolder(folder)).release()
})

test('a process of another machine keeps its lock while it gives signs of life', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'lock')
  writeFileSync(file, 'elsewhere/pid:[1]#1#1')

  await expect(lockFolder(folder)).rejects.toThrow(/in use .+ if that was killed, start again in a minute\.$/)
  utimesSync(file, 0, 0)

  await (await lockFolder(folder, { watchMs: 1 })).release()
})

test('one that is gone does not keep it until a clock that was set back has come there again', async () => {
  const folder = temporaryFolder()
  const file = join(folder, 'lock')
  writeFileSync(file, 'elsewhere/pid:[1]#1#1')
  const ahead = Date.now() / 1000 + 3600
  utimesSync(file, ahead, ahead)

  await (await lockFolder(folder, { watchMs: 1 })).release()
})

test('a lock that found no room for the name of its holder is no lock of another process', async () => {
  const folder = temporaryFolder()
  const some = await open(import.meta.filename)
  const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', syscall: 'write' })
  const write = vi.spyOn(Object.getPrototypeOf(some), 'writeFile').mockRejectedValue(full)
  onTestFinished(() => write.mockRestore())
  await some.close()

  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'ENOSPC' })
  expect(existsSync(join(folder, 'lock'))).toBe(false)

  write.mockRestore()
  await (await lockFolder(folder)).release()
})

test('a lock that the disk keeps does not hide why the queue could not be opened', async () => {
  const folder = temporaryFolder()
  const lock = await lockFolder(folder)
  rmSync(join(folder, 'lock'))
  mkdirSync(join(folder, 'lock'))

  await expect(lock.release()).resolves.toBeUndefined()
})
