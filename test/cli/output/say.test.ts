import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { columnsOf, wrapLines } from '../../../src/cli/output/print.ts'
import { runProgram } from '../../../src/cli/program.ts'

/** The lines that a terminal of 40 columns is sent. */
async function sent(...args: readonly string[]) {
  let text = ''
  const write = (chunk: unknown, _: unknown, done: () => void) => {
    text += String(chunk)
    done()
  }
  const screen = Object.assign(new Writable({ write }), { isTTY: true, columns: 40 })
  const io = { signal: new AbortController().signal, stdout: screen, stderr: screen, exitWith: () => {} }
  await runProgram(args, io)
  return text.split('\n')
}

test.each(['status --config no.yaml', 'sql', '--help'])('on 40 columns, nothing is wider: %s', async (command) => {
  const lines = await sent(...command.split(' '))

  expect(lines.length).toBeGreaterThan(2)
  expect(lines.filter((line) => columnsOf(line) > 40)).toEqual([])
})

test('lines that are too long are broken between words; a path on a line of its own, and a command, stay whole', () => {
  const path = `/srv/${'customers-of-all-organizations/'.repeat(3)}customers.db`
  const text = `short\n\n  older-list: the newest ones are absent\n    fix: chmod 600 /run/secrets/acme-key\nRestored to the mirror ${path}: 3 customers.`

  expect(wrapLines(text, 24)).toBe(
    'short\n\n  older-list: the\n    newest ones are\n    absent\n    fix: chmod 600 /run/secrets/acme-key\n' +
      `Restored to the mirror\n${path}:\n3 customers.`,
  )
  expect(wrapLines(text, Infinity)).toBe(text)
})
