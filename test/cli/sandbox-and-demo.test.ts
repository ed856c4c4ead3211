import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { sandboxCommand } from '../../src/cli/sandbox.ts'
import { syncRuns } from '../support/json-output.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

test('a sandbox writes a configuration that mirrors it, and stops when asked', async () => {
  const cwd = temporaryFolder()
  const options = ['--port', '0', '--customers', '230,7,0', '--write-config', 'trial.yaml']
  const sandbox = startCli(['sandbox', ...options], { cwd })
  await sandbox.lineOnStderr(/^Wrote trial\.yaml\. In another terminal: customer-mirror sync --config trial\.yaml$/)
  const { code, stdout } = await runCli(['sync', '--config', 'trial.yaml', '--json'], { cwd })
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
  expect(statSync(join(cwd, 'trial.yaml')).mode & 0o777).toBe(0o600)
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

test('the demo mirrors three organizations, waits for the rate limit, and writes no customer twice', async () => {
  const cwd = temporaryFolder()
  const { code, stdout, stderr } = await runCli(['demo'], { cwd, ...(!inject('isDeep') && withMadeQueueHere(cwd)) })
  const folder = join(cwd, 'data', 'demo')
  const mirror = join(folder, 'customers.db')

  expect(code).toBe(0)
  expect(stderr).toMatch(/^globex +asked to slow down; continues in /m)
  expect(rowsOf(mirror, RUNS)).toEqual([
    { organization: 'acme', status: 'complete', inserted: 2500, updated: 0, unchanged: 0 },
    { organization: 'globex', status: 'complete', inserted: 1050, updated: 0, unchanged: 0 },
    { organization: 'initech', status: 'complete', inserted: 40, updated: 0, unchanged: 0 },
    { organization: 'acme', status: 'complete', inserted: 0, updated: 0, unchanged: 2500 },
    { organization: 'globex', status: 'complete', inserted: 0, updated: 0, unchanged: 1050 },
    { organization: 'initech', status: 'complete', inserted: 0, updated: 0, unchanged: 40 },
  ])
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM changes')).toBe(0)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE last_run_id > 3')).toBe(0)
  expect(statSync(mirror).mode & 0o777).toBe(0o600)
  expect([folder, join(cwd, 'data')].map((place) => statSync(place).mode & 0o777)).toEqual([0o700, 0o700])

  const next = stdout.slice(stdout.indexOf('Try next:\n')).trimEnd().split('\n').slice(1)
  expect(stdout).toContain('Mirror: data/demo/customers.db\n')
  expect(next).toHaveLength(3)
  const [, sql = ''] = /^ {2}npm start -- sql --mirror data\/demo\/customers\.db "(.*)"$/.exec(next[0] ?? '') ?? []
  expect(rowsOf(mirror, sql).length).toBeGreaterThan(3)
  const [, first = ''] = /sql --mirror data\/demo\/customers\.db "([^"]*)"/.exec(README) ?? []
  const shown = await runCli(['sql', '--mirror', 'data/demo/customers.db', first], { cwd })
  expect(README).toContain(`\n${shown.stdout.replaceAll(/ +$/gm, '')}\`\`\`\n`)
  const [, status = ''] = /^ {2}npm start -- (status .*)$/.exec(next[1] ?? '') ?? []
  expect((await runCli(status.split(' '), { cwd })).stdout).toMatch(/^initech .* 40 /m)
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

test('the demo does not delete a folder that happens to be called queue', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'queue'))
  writeFileSync(join(cwd, 'queue', 'mine.txt'), 'mine')
  const { code, stderr } = await runCli(['demo', '--folder', '.'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toContain('holds files that no demo made')
  expect(readFileSync(join(cwd, 'queue', 'mine.txt'), 'utf8')).toBe('mine')
})

const RUNS = 'SELECT organization, status, inserted, updated, unchanged FROM runs ORDER BY id > 3, organization'

/** The same for a demo in this process. */
function withMadeQueueHere(cwd: string): { onStderr: (text: string) => void } {
  const makeQueue = () => cpSync(inject('queueTemplate'), join(cwd, 'data/demo/queue'), { recursive: true })
  return { onStderr: (text) => text.includes('listens at') && makeQueue() }
}
