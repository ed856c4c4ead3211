import { expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/exit-code.ts'
import { commit, version } from '../../src/machine/version.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const COMMANDS = [
  ...['init', 'check', 'conformance', 'sync', 'status', 'runs', 'runs show', 'rejects', 'report', 'forget'],
  ...['removals', 'removals list', 'removals show', 'removals approve', 'removals discard', 'accept'],
  ...['organizations', 'organizations list', 'organizations rename', 'organizations retire', 'organizations forget'],
  ...['signing', 'signing explain', 'signing solve'],
  ...['worker', 'run', 'cancel', 'pause', 'resume', 'queue', 'schedule', 'publish', 'serve'],
  ...['query', 'diff', 'sql', 'export'],
  ...['backup', 'restore', 'move', 'schema', 'sandbox', 'demo'],
]

const elsewhere = (...args: string[]) => runCli(args, { cwd: temporaryFolder() })

test.each(COMMANDS)('customer-mirror %s --help ends with 0 and shows an example', async (command) => {
  const { code, stdout, stderr } = await elsewhere(...command.split(' '), '--help')
  const [, examples = ''] = stdout.split('\nExamples:\n')
  const shown = examples.split('\n').filter((line) => /^ {2}\$ customer-mirror /.test(line))

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^Usage: customer-mirror ${command}`))
  expect(shown.length).toBeGreaterThanOrEqual(1)
  for (const line of shown) expect(line).toContain(`customer-mirror ${command}`)
  const isCommand = (line: string) => shown.includes(line) || /^ *--/.test(line)
  expect(stdout.split('\n').filter((line) => line.length > 80 && !isCommand(line))).toEqual([])
})

test('--help shows every command on a screen of 80 columns and 40 rows, by what it is for', async () => {
  const { code, stdout } = await elsewhere('--help')
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) +\S/gm)].map(([, name]) => name)

  expect(code).toBe(0)
  expect(new Set(listed)).toEqual(new Set(COMMANDS.filter((command) => !command.includes(' '))))
  expect(stdout.match(/^\w+:$/gm)).toEqual(['Start:', 'Watch:', 'Decide:', 'Read:', 'Operate:'])
  // One row is left for the prompt.
  expect(stdout.trimEnd().split('\n').length).toBeLessThan(40)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('sync --help explains every exit code, and help sync is the same', async () => {
  const { stdout } = await elsewhere('sync', '--help')

  const words = stdout.replaceAll(/\s+/g, ' ')
  for (const [code, meaning] of Object.entries(EXIT_CODES)) expect(words).toContain(` ${code} ${meaning} `)
  expect(await elsewhere('help', 'sync')).toMatchObject({ code: 0, stdout })
})

test.each([
  ['no command', [], /^Usage: customer-mirror /],
  ['signing without saying what', ['signing'], /^Usage: customer-mirror signing /],
  ['removals without saying what', ['removals'], /^Usage: customer-mirror removals /],
  ['organizations without saying what', ['organizations'], /^Usage: customer-mirror organizations /],
  ['an unknown command', ['snyc'], /^error: unknown command 'snyc'\n\(Did you mean sync\?\)\n/],
  ['an unknown command of signing', ['signing', 'explode'], /^error: unknown command 'explode'\n/],
  ['an unknown command of removals', ['removals', 'lits'], /unknown command 'lits'\n\(Did you mean list\?\)/],
  ['an option before its command', ['removals', '--json', 'list'], /^error: unknown option '--json'/],
  ['an unknown option', ['status', '--maximum-age', '1h'], /^error: unknown option '--maximum-age'/],
  ['too many arguments', ['runs', 'acme', 'globex'], /^error: too many arguments/],
  ['a missing argument', ['removals', 'approve'], /^error: missing required argument 'organization'/],
])('%s ends with 2, and names the mistake or shows the help, beside the results', async (_, args, said) => {
  const { code, stdout, stderr } = await elsewhere(...args)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(said)
  expect(stderr).toMatch(/^Usage: |\nTo see how it is used, add --help\.\n/)
  expect(stderr).not.toMatch(/^\s+at /m)
})

const DESTRUCTIVE = [
  ...['forget', 'restore', 'removals approve', 'removals discard', 'accept'],
  ...['organizations retire', 'organizations forget'],
]

test('no misspelt word is taken for a command that deletes or replaces', async () => {
  for (const command of DESTRUCTIVE) {
    const words = command.split(' ')
    const name = words.pop() ?? ''
    const swapped = name.replace(/^(.)(.)/, '$2$1')
    for (const misspelt of [swapped, name.slice(1), name.slice(0, -1), `${name}s`, name.toUpperCase()])
      expect(await elsewhere(...words, misspelt, 'acme')).toMatchObject({
        ...{ code: 2, stdout: '' },
        stderr: expect.stringContaining(`error: unknown command '${misspelt}'\n`),
      })
  }
})

test.each(['--version', '-V'])('%s prints the version, with its commit where that is known', async (option) => {
  const known = commit()

  expect(await elsewhere(option)).toMatchObject({
    ...{ code: 0, stderr: '' },
    stdout: known === undefined ? `${version()}\n` : `${version()}+${known}\n`,
  })
})

test('into a pipe it writes no escape codes, whatever the terminal promises', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7], forbidden: ['globex'] })))
  const env = { TERM: 'xterm-256color', COLORTERM: 'truecolor' }
  const written = []
  for (const args of [['sync'], ['status'], ['runs'], ['rejects'], ['check'], ['--help'], ['nonsense']]) {
    const { stdout, stderr } = await runCli(args, { cwd: folder, env })
    written.push(stdout, stderr)
  }

  expect(written.join('')).toContain('acme')
  expect(written.filter((text) => text.includes('\u001B'))).toEqual([])
})

test('a shell gets the exit code and the results, even if standard error is closed', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7], forbidden: ['globex'] })))
  const ended = await startCli(['sync', '--json'], { cwd: folder, unread: 'stderr' }).ended

  expect(ended).toMatchObject({ code: 3, signal: null })
  expect(JSON.parse(ended.stdout)).toMatchObject({ runs: [{ inserted: 120 }, { status: 'failed' }] })
})
