import { expect, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/exit-code.ts'
import { commit, version } from '../../src/machine/version.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const COMMANDS = [
  ...['init', 'check', 'sync', 'status', 'runs', 'runs show', 'rejects', 'forget'],
  ...['removals', 'removals list', 'removals show', 'removals approve', 'removals discard', 'accept'],
  ...['organizations', 'organizations list', 'organizations rename', 'organizations retire', 'organizations forget'],
  ...['signing', 'signing explain', 'signing solve'],
  ...['worker', 'run', 'cancel', 'pause', 'resume', 'queue', 'schedule', 'publish', 'query', 'sql', 'export'],
  ...['backup', 'restore', 'move', 'schema', 'sandbox', 'demo'],
]

test.each(COMMANDS)('customer-mirror %s --help ends with 0 and shows two examples at least', async (command) => {
  const { code, stdout, stderr } = await runCli([...command.split(' '), '--help'], { cwd: temporaryFolder() })
  const [, examples = ''] = stdout.split('\nExamples:\n')
  const shown = examples.split('\n').filter((line) => /^ {2}\$ customer-mirror /.test(line))

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^Usage: customer-mirror ${command}`))
  expect(shown.length).toBeGreaterThanOrEqual(2)
  const whole = new Set(shown.map((line) => line.trim()))
  const isCommand = (line: string) => whole.has(line.trim()) || /^ *--/.test(line)
  expect(stdout.split('\n').filter((line) => line.length > 80 && !isCommand(line))).toEqual([])
  for (const line of shown) expect(line).toContain(`customer-mirror ${command}`)
})

test('--help shows every command on a screen of 80 columns and 40 rows, by what it is for', async () => {
  const { code, stdout } = await runCli(['--help'], { cwd: temporaryFolder() })
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) +\S/gm)].map(([, name]) => name)

  expect(code).toBe(0)
  expect(new Set(listed)).toEqual(new Set(COMMANDS.filter((command) => !command.includes(' '))))
  expect(stdout.match(/^\w+:$/gm)).toEqual(['Start:', 'Watch:', 'Decide:', 'Read:', 'Operate:'])
  // One row is left for the prompt.
  expect(stdout.trimEnd().split('\n').length).toBeLessThan(40)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})

test('sync --help explains every exit code', async () => {
  const { stdout } = await runCli(['sync', '--help'], { cwd: temporaryFolder() })

  const onOneLine = stdout.replaceAll(/\n {7}(?=\S)/g, ' ')
  for (const [code, meaning] of Object.entries(EXIT_CODES)) expect(onOneLine).toContain(`${code}  ${meaning}\n`)
})

test('help for a command is the same as its --help', async () => {
  const cwd = temporaryFolder()
  const [help, option] = [await runCli(['help', 'sync'], { cwd }), await runCli(['sync', '--help'], { cwd })]

  expect(help).toEqual(option)
})

test('every command says in the same words how to ask for help', async () => {
  const words: string[] = []
  for (const path of [['sync'], ['signing'], ['signing', 'solve']]) {
    const { stdout } = await runCli([...path, '--help'], { cwd: temporaryFolder() })
    words.push(...[...stdout.matchAll(/^ {2}(?:-h, --help|help \[command\]) +(.*)/gm)].map(([, said = '']) => said))
  }

  expect(words).toHaveLength(4)
  expect(new Set(words)).toEqual(new Set(['display help for command']))
})

test.each([
  ['no command', [], /^Usage: customer-mirror /],
  ['signing without saying what', ['signing'], /^Usage: customer-mirror signing /],
  ['removals without saying what', ['removals'], /^Usage: customer-mirror removals /],
  ['organizations without saying what', ['organizations'], /^Usage: customer-mirror organizations /],
])('%s ends with 2 and shows the help beside the results', async (_, args, said) => {
  const { code, stdout, stderr } = await runCli(args, { cwd: temporaryFolder() })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(said)
})

test.each([
  ['an unknown command', ['snyc'], "unknown command 'snyc'", ''],
  ['an unknown command of signing', ['signing', 'explode'], "unknown command 'explode'", ' signing'],
  ['an unknown command of organizations', ['organizations', 'eat'], "unknown command 'eat'", ' organizations'],
  ['an unknown option', ['status', '--maximum-age', '1h'], "unknown option '--maximum-age'", ' status'],
  ['too many arguments', ['runs', 'acme', 'globex'], 'too many arguments', ' runs'],
  ['a missing argument', ['removals', 'approve'], "missing required argument 'organization'", ' removals approve'],
])('%s ends with 2, names the mistake, and where to read on', async (_, args, said, command) => {
  const { code, stdout, stderr } = await runCli(args, { cwd: temporaryFolder() })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain(said)
  expect(stderr).toContain(`\nTo see how it is used: customer-mirror${command} --help\n`)
  expect(stderr).not.toMatch(/^\s+at /m)
})

test.each(
  someOf([
    ['--version', 0, /^\d/, /^$/],
    ['status', 2, /^$/, /^customer-mirror\.yaml does not exist/],
    ['snyc', 2, /^$/, /^error: unknown command 'snyc'/],
  ] as const),
)('a shell gets the exit code, the results and what is said beside them: %s', async (command, code, result, said) => {
  const ended = await startCli([command], { cwd: temporaryFolder() }).ended

  expect(ended).toMatchObject({ code, signal: null })
  expect(ended.stdout).toMatch(result)
  expect(ended.stderr).toMatch(said)
  expect(ended.stderr).not.toMatch(/^\s+at /m)
})

test('a misspelt command gets a suggestion', async () => {
  const { stderr } = await runCli(['stauts'], { cwd: temporaryFolder() })

  expect(stderr).toContain('(Did you mean status?)')
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
    for (const misspelt of [swapped, name.slice(1), name.slice(0, -1), `${name}s`, name.toUpperCase()]) {
      const { code, stdout, stderr } = await runCli([...words, misspelt, 'acme'], { cwd: temporaryFolder() })

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(`error: unknown command '${misspelt}'\n`)
    }
  }
})

test.each(['--version', '-V'])(
  '%s prints the version, with its commit where that is known, and nothing else',
  async (option) => {
    const known = commit()
    expect(await runCli([option], { cwd: temporaryFolder() })).toMatchObject({
      code: 0,
      stdout: known === undefined ? `${version()}\n` : `${version()}+${known}\n`,
      stderr: '',
    })
  },
)

test.each([
  ['with NO_COLOR', { NO_COLOR: '1' }],
  ['whatever the terminal promises', { TERM: 'xterm-256color', COLORTERM: 'truecolor' }],
])('into a pipe it writes no escape codes, %s', async (_, env) => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7], forbidden: ['globex'] })))
  const written = []
  for (const args of [['sync'], ['status'], ['runs'], ['rejects'], ['check'], ['--help'], ['nonsense']]) {
    const { stdout, stderr } = await runCli(args, { cwd: folder, env })
    written.push(stdout, stderr)
  }

  expect(written.join('')).toContain('acme')
  expect(written.filter((text) => text.includes('\u001B'))).toEqual([])
})

test('sync finishes its work and prints its results even if standard error is closed', async () => {
  const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7] })))
  const { code, stdout } = await startCli(['sync', '--json'], { cwd: folder, unread: 'stderr' }).ended

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ runs: [{ inserted: 120 }, { inserted: 7 }] })
})
