import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { checkCommand } from '../../../src/cli/check.ts'
import type { ExitCode } from '../../../src/cli/exit-code.ts'
import { columnsOf, hanging, wrapLines } from '../../../src/cli/output/say.ts'
import { runProgram } from '../../../src/cli/program.ts'
import { runCli } from '../../support/run-cli.ts'
import { runOnScreen } from '../../support/screen.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'

/** The lines that a terminal of so many columns is sent. */
async function sentTo(columns: number, args: readonly string[]) {
  let [code, text]: [ExitCode, string] = [0, '']
  const write = (chunk: unknown, _: unknown, done: () => void) => {
    text += String(chunk)
    done()
  }
  const screen = Object.assign(new Writable({ write }), { isTTY: true, columns })
  const exitWith = (given: ExitCode) => (code = given)
  await runProgram(args, { signal: new AbortController().signal, stdout: screen, stderr: screen, exitWith })
  return { code, text, lines: text.trimEnd().split('\n') }
}

test.each([
  ['a mistake on the command line', ['sync', '--maximum-pages-of-all-organizations', '5']],
  ['a command without its statement', ['sql']],
  ['a configuration that is not there', ['status', '--config', 'no.yaml']],
])('on 40 columns, %s is broken between words', async (_, args) => {
  const { code, text, lines } = await sentTo(40, args)
  const { stderr } = await runCli(args, { cwd: temporaryFolder() })

  expect(code).toBe(2)
  expect(Math.max(...lines.map(columnsOf))).toBeLessThanOrEqual(40)
  expect(lines.length).toBeGreaterThan(stderr.trimEnd().split('\n').length)
  expect(text.replaceAll(/\s+/g, ' ')).toBe(stderr.replaceAll(/\s+/g, ' '))
})

test.each(['--help', 'sync --help', 'sandbox --help', 'sql --tables'])(
  'on 40 columns, nothing but an example is wider: %s',
  async (command) => {
    const { lines } = await sentTo(40, command.split(' '))

    expect(lines.filter((line) => columnsOf(line) > 40 && !line.startsWith('  $ '))).toEqual([])
  },
)

test('where there is little room, what an option does stands below it', async () => {
  expect((await sentTo(40, ['sync', '--help'])).text).toContain(
    '  --limit-pages <number>\n      stop after this many pages of each\n      organization\n',
  )
})

test('check breaks its lines between words on a terminal, and only there', async () => {
  const { config, folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [3], forbidden: ['acme'] })))
  const { lines } = await runOnScreen(checkCommand, ['--config', config], { columns: 40 })
  const { stdout } = await runCli(['check'], { cwd: folder })

  expect(lines).toContain('    fix: Check that apiKey is the key')
  expect(lines).toContain('      of this organization. If it is,')
  expect(stdout).toContain('\n    fix: Check that apiKey is the key of this organization. If it is, its plan')
})

test.each([
  [40, 'signed with   the key of the\n              organization'],
  [30, 'signed with\n    the key of the\n    organization'],
  [80, 'signed with   the key of the organization'],
])('a text goes on below itself on %d columns, or stands below its start', (columns, expected) => {
  expect(hanging('signed with   ', 'the key of the organization', columns)).toBe(expected)
})

test('what forget and a restore say is broken between words, and statements to copy stay whole', async () => {
  const sandbox = await aSandbox({ customers: [3] })
  const { folder } = aWorkplace(organizationsOf(sandbox))
  const at = ['--config', join(folder, 'customer-mirror.yaml')]
  const id = sandbox.organizations[0]?.customers[0]?.id ?? ''
  await runCli(['sync'], { cwd: folder })
  await runCli(['backup', 'backup.db'], { cwd: folder })
  const forgotten = await sentTo(80, ['forget', 'acme', id, ...at])
  const restored = await sentTo(80, ['restore', join(folder, 'backup.db'), ...at])

  expect([forgotten.code, restored.code]).toEqual([0, 0])
  const tooLong = [...forgotten.lines, ...restored.lines].filter(
    (line) => columnsOf(line) > 80 && line.trim().includes(' '),
  )
  expect(tooLong.map((line) => line.trim().split(' ').slice(0, 2).join(' '))).toEqual(Array(3).fill('DELETE FROM'))
  expect(forgotten.lines).toContain('  - databases that were filled from the mirror. No change announces this')
  expect(restored.text).toMatch(/what the backup\n {2}held of them is deleted\./)
})

test('lines of a text that are too long are broken between words; a path on a line of its own, and a command, stay whole', () => {
  const path = `/srv/${'customers-of-all-organizations/'.repeat(3)}customers.db`
  const text = `short\n\n  older-list: the newest ones are absent\n    fix: chmod 600 /run/secrets/acme-key\nRestored to the mirror ${path}: 3 customers.`

  expect(wrapLines(text, 24)).toBe(
    'short\n\n  older-list: the\n    newest ones are\n    absent\n    fix: chmod 600 /run/secrets/acme-key\n' +
      `Restored to the mirror\n  ${path}:\n  3 customers.`,
  )
  expect(wrapLines(text, Infinity)).toBe(text)
})
