import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readBytes } from '../../../src/config/read-text.ts'
import { heldPipe } from '../../support/held-pipe.ts'
import { runInShell } from '../../support/run-in-shell.ts'
import { acme, aFolder } from '../configuration-folder.ts'

test('a named pipe is not opened', async () => {
  const { path } = heldPipe(join(await aFolder(), 'pipe'))
  expect(await readBytes(path, { maxBytes: 9 })).toEqual({ problem: 'is a pipe, not a file', missing: false })
})

test('a pipe that this process was given is read, but not waited for without end', async () => {
  const { descriptor } = heldPipe(join(await aFolder(), 'pipe'))
  const read = (maxBytes: number) => readBytes(`/proc/self/fd/${descriptor}`, { maxBytes, silenceMs: 20 })
  expect(await read(9)).toEqual({ problem: 'is a pipe that stays silent', missing: false })
  writeSync(descriptor, 'more than four')
  expect(await read(4)).toEqual({ bytes: Buffer.from('more than four') })
})

test.each([
  ['a command in <( )', 'customer-mirror schedule -c <(cat)'],
  ['standard input', 'cat | customer-mirror schedule -c /dev/stdin'],
])('the configuration may come from %s', async (_, command) => {
  const { code, stdout } = runInShell(command, { cwd: await aFolder(), input: acme() })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^acme +no schedule/m)
})
