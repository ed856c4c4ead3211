import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sandboxCommand } from '../../src/cli/service.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { syncRuns } from '../support/json-page.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a sandbox writes a configuration that mirrors it, and stops when asked', async () => {
  const file = join(temporaryFolder(), 'my trial.yaml')
  const stopping = new AbortController()
  const started = Promise.withResolvers<void>()
  const options = ['--port', '0', '--customers', '230,7,0', '--write-config', file]
  const ending = runCommand(sandboxCommand, options, {
    signal: stopping.signal,
    onStderr: (text) => text.includes(`\n  customer-mirror sync --config '${file}'\n`) && started.resolve(),
  })
  await started.promise
  const synced = await runCommand(syncCommand, ['--config', file, '--json'])
  stopping.abort()
  const ended = await ending

  expect(synced.code).toBe(0)
  expect(syncRuns(synced.stdout)).toMatchObject([
    { organization: 'acme', inserted: 230 },
    { organization: 'globex', inserted: 7 },
    { organization: 'initech', inserted: 0 },
  ])
  expect(ended.stdout).toMatch(/^acme, 230 customers\n {2}base URL {2}http:\/\/127\.0\.0\.1:\d+\/api\/v1\n {2}API key /)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a sandbox lists its scenarios, and neither it nor a demo replaces what is there', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'made'))
  writeFileSync(join(cwd, 'mine.yaml'), 'mine: true\n')

  for (const [args, said] of [
    [['sandbox', '--port', '0', '--write-config', 'mine.yaml'], /mine\.yaml exists already and was not changed\./],
    [['demo', '--folder', '.'], /^\. is there already\. Name another folder with --folder/m],
    [['demo', '--folder', 'made'], /remove it \(rm -r made\)/],
    [['demo', '--folder', ''], /^The name of the folder is empty: --folder names a folder\.$/m],
  ] as const)
    expect(await runCli(args, { cwd })).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(said) })
  expect((await runCli(['sandbox', '--list-scenarios'], { cwd })).stdout).toMatch(/^insert-delete +\S/m)
  expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toBe('mine: true\n')
  expect(readdirSync(cwd).toSorted()).toEqual(['made', 'mine.yaml'])
})

test('init writes a valid, private and commented configuration, never overwrites it, and sync names what to set', async () => {
  const cwd = temporaryFolder()
  const { code, stdout, stderr } = await runCli(['init'], { cwd })
  const file = join(cwd, 'customer-mirror.yaml')
  const before = readFileSync(file, 'utf8')
  const config = await readConfig({ cwd, environment: {} })
  const again = await runCli(['init'], { cwd })
  const synced = await runCli(['sync'], { cwd })

  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toMatch(/^Wrote customer-mirror\.yaml\. Next:\n.*customer-mirror check\n$/s)
  expect(config.organizations.map(({ id }) => id)).toEqual(['acme'])
  expect(before.match(/#/g)?.length).toBeGreaterThan(10)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(again).toMatchObject({
    code: 2,
    stderr:
      'cannot write customer-mirror.yaml: it exists already, and init never overwrites; edit it, or name another file\n',
  })
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect(synced).toMatchObject({ code: 2, stdout: expect.stringMatching(/^acme +failed: config /m) })
  for (const [variable, what] of [
    ['ACME_API_KEY', 'API key'],
    ['ACME_SECRET', 'secret'],
  ])
    expect(synced.stderr).toContain(`environment ${variable} (the ${what} of organization acme) is not set`)
})

test('init writes to the named file, and the next steps it prints work there', async () => {
  const cwd = temporaryFolder()
  const { stderr } = await runCli(['init', 'production.yaml'], { cwd })
  const [, next = ''] = /customer-mirror (check --config .*)\n/.exec(stderr) ?? []
  const env = { ACME_API_KEY: 'made-up', ACME_SECRET: 'made-up' }
  const { stdout } = await runCli(next.split(' '), { cwd, env })

  expect(next).toBe('check --config production.yaml')
  expect(stdout).toContain(`✔ configuration: ${join(cwd, 'production.yaml')}, 1 organization\n`)
  expect((await runCli(['init', "Ada's new.yaml"], { cwd })).stderr).toContain(
    String.raw`customer-mirror check --config 'Ada'\''s new.yaml'`,
  )
  writeFileSync(join(cwd, 'notes.txt'), '')
  expect(await runCli(['init', 'notes.txt'], { cwd })).toMatchObject({ code: 2 })
})

test('schema prints a JSON Schema that knows every setting, and nothing else', async () => {
  const { code, stdout, stderr } = await runCli(['schema'], { cwd: temporaryFolder() })
  const schema = JSON.parse(stdout)

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(schema).toMatchObject({ $schema: expect.stringContaining('json-schema.org'), type: 'object' })
  expect(Object.keys(schema.properties)).toEqual([
    ...['mirror', 'queue', 'schedule', 'jobs', 'publish', 'notify', 'serve', 'heartbeat', 'defaults', 'organizations'],
  ])
  expect(stdout).toContain('requestsPerMinute')
})
