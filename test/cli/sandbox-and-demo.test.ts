import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isOfDemo, markedAsDemo } from '../../src/cli/demo.ts'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { writeConfig } from '../../src/service/write-config.ts'
import { syncRuns } from '../support/json-page.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox } from '../support/workplace.ts'

test('a sandbox writes a configuration that mirrors it, and stops when asked', async () => {
  const cwd = temporaryFolder()
  const options = ['--port', '0', '--customers', '230,7,0', '--write-config', 'my trial.yaml']
  const sandbox = startCli(['sandbox', ...options], { cwd })
  await sandbox.lineOnStderr(/^ {2}customer-mirror sync --config 'my trial\.yaml'$/)
  const { code, stdout } = await runCli(['sync', '--config', 'my trial.yaml', '--json'], { cwd })
  sandbox.send('SIGINT')
  const ended = await sandbox.ended

  expect(code).toBe(0)
  expect(syncRuns(stdout).map(({ organization, inserted }) => [organization, inserted])).toEqual([
    ['acme', 230],
    ['globex', 7],
    ['initech', 0],
  ])
  expect(ended.code).toBe(130)
  expect(ended.stdout).toMatch(/^acme, 230 customers\n {2}base URL {2}http:\/\/127\.0\.0\.1:\d+\/api\/v1\n {2}API key /)
  expect(statSync(join(cwd, 'my trial.yaml')).mode & 0o777).toBe(0o600)
})

test('a sandbox with a recipe of its own writes it into the configuration', async () => {
  const cwd = temporaryFolder()
  const recipe = ['--signing', 'laravel-path', '--signature-encoding', 'base64', '--timestamp', 'ms']
  const config = join(cwd, 'trial.yaml')
  const options = ['--port', '0', '--customers', '3', '--organizations', '1', '--write-config', config]
  const stop = new AbortController()
  const sandbox = runCommand(sandboxCommand, [...recipe, ...options], stop.signal)
  await expect.poll(() => existsSync(config)).toBe(true)

  expect((await runCli(['sync', '--config', 'trial.yaml'], { cwd })).code).toBe(0)
  stop.abort()
  await sandbox
})

test('a sandbox does not overwrite a configuration, and does not stay behind', async () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'mine.yaml'), 'mine: true\n')
  const { code, stderr } = await runCli(['sandbox', '--port', '0', '--write-config', 'mine.yaml'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toContain('mine.yaml exists already and was not changed.')
  expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toBe('mine: true\n')
})

test('the demo does not delete a configuration or a mirror that is not its own', async () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'customer-mirror.yaml'), 'organizations: []  # mine\n')
  writeFileSync(join(cwd, 'customers.db'), 'mine')
  const { code } = await runCli(['demo', '--folder', '.'], { cwd })

  expect(code).toBe(2)
  expect(existsSync(join(cwd, 'customer-mirror.yaml'))).toBe(true)
  expect(readFileSync(join(cwd, 'customer-mirror.yaml'), 'utf8')).toBe('organizations: []  # mine\n')
  expect(readFileSync(join(cwd, 'customers.db'), 'utf8')).toBe('mine')
})

test.each<[what: string, change: (config: string) => string]>([
  ['with a note', (text) => `# mine\n${text}`],
  ['as the sandbox wrote it', (text) => text],
])('the demo does not delete the configuration of a sandbox %s, nor what is beside it', async (_, change) => {
  const cwd = temporaryFolder()
  const config = join(cwd, 'customer-mirror.yaml')
  const sandbox = await aSandbox({ customers: [1] })
  await writeConfig(config, sandbox, { mirror: './customers.db' })
  const written = change(readFileSync(config, 'utf8'))
  writeFileSync(config, written)
  writeFileSync(join(cwd, 'customers.db'), 'mine')
  const { code, stderr } = await runCli(['demo', '--folder', '.'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toMatch(/^\. holds files that no demo made.*move them away, or name another folder with --folder\.$/m)
  expect(readFileSync(config, 'utf8')).toBe(written)
  expect(readFileSync(join(cwd, 'customers.db'), 'utf8')).toBe('mine')
})

test('the next demo replaces the configuration of a demo, as long as it is unchanged', () => {
  const written = markedAsDemo('mirror: ./customers.db\n')

  expect(isOfDemo(written)).toBe(true)
  for (const changed of [`# mine\n${written}`, `${written}# mine\n`, written.replace('./customers.db', './mine.db')])
    expect(isOfDemo(changed)).toBe(false)
})

test.each([
  ['', /^The name of the folder is empty: --folder names a folder\.$/m],
  ['file', /^file\/customer-mirror\.yaml does not exist: part of the path before it is a file\. Name another folder/],
  ['file/x', /^file\/x\/customer-mirror\.yaml does not exist: part of the path before it is a file\. Name another/],
  ['made', /^made\/customer-mirror\.yaml is a folder, not a file\. Name another folder/],
])('a demo in the folder "%s" is refused as a mistake', async (folder, said) => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'file'), 'mine')
  mkdirSync(join(cwd, 'made', 'customer-mirror.yaml'), { recursive: true })
  const { code, stdout, stderr } = await runCli(['demo', '--folder', folder], { cwd })

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(said)
  expect(readdirSync(cwd).toSorted()).toEqual(['file', 'made'])
})

test('the demo does not delete a folder that happens to be called queue', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'queue'))
  writeFileSync(join(cwd, 'queue', 'mine.txt'), 'mine')
  const { code, stderr } = await runCli(['demo', '--folder', '.'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toContain('holds files that no demo made')
  expect(readFileSync(join(cwd, 'queue', 'mine.txt'), 'utf8')).toBe('mine')
})
