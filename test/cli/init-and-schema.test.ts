import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { initCommand } from '../../src/cli/init.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { runCli } from '../support/run-cli.ts'
import { runOnScreen } from '../support/screen.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('init writes a valid, private and commented configuration, and prints the next steps', async () => {
  const cwd = temporaryFolder()
  const { code, stdout, stderr } = await runCli(['init'], { cwd })
  const file = join(cwd, 'customer-mirror.yaml')
  const config = await readConfig({ cwd, environment: {} })

  expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
  expect(stderr).toMatch(/^Wrote customer-mirror\.yaml\. Next:\n.*customer-mirror check\n$/s)
  expect(config.organizations.map(({ id }) => id)).toEqual(['acme'])
  expect(readFileSync(file, 'utf8').match(/#/g)?.length).toBeGreaterThan(10)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('init quotes a name that the shell would take apart', async () => {
  const { stderr } = await runCli(['init', "Ada's new.yaml"], { cwd: temporaryFolder() })

  expect(stderr).toContain(String.raw`customer-mirror check --config 'Ada'\''s new.yaml'`)
})

test('on a narrow terminal, what init says is broken between words, and the command to copy is not', async () => {
  const file = join(temporaryFolder(), 'customer-mirror.yaml')
  const { lines } = await runOnScreen(initCommand, [file], { columns: 40 })

  expect(lines).toContain('    organization into')
  expect(lines.join('')).toContain(`  3. customer-mirror check --config ${file}`)
})

test('init never overwrites', async () => {
  const cwd = temporaryFolder()
  const file = join(cwd, 'customer-mirror.yaml')
  writeFileSync(file, 'mine: true\n')
  const { code, stderr } = await runCli(['init'], { cwd })

  expect(code).toBe(2)
  expect(stderr).toBe(
    'cannot write customer-mirror.yaml: it exists already, and init never overwrites; edit it, or name another file\n',
  )
  expect(readFileSync(file, 'utf8')).toBe('mine: true\n')
})

test('init writes to the named file, and the next steps it prints work there', async () => {
  const cwd = temporaryFolder()
  const { stderr } = await runCli(['init', 'production.yaml'], { cwd })
  const [, next = ''] = /customer-mirror (check --config .*)\n/.exec(stderr) ?? []
  const env = { ACME_API_KEY: 'made-up', ACME_SECRET: 'made-up' }
  const { stdout } = await runCli(next.split(' '), { cwd, env })

  expect(next).toBe('check --config production.yaml')
  expect(stdout).toContain(`✔ configuration: ${join(cwd, 'production.yaml')}, 1 organization\n`)
})

test('after init, sync names the variables to set, and records the failed runs', async () => {
  const cwd = temporaryFolder()
  await runCli(['init'], { cwd })
  const { code, stdout, stderr } = await runCli(['sync'], { cwd })

  expect(code).toBe(2)
  expect(stdout).toMatch(/^acme +failed: config /m)
  expect(stderr).toContain('environment ACME_API_KEY (the API key of organization acme) is not set')
  expect(stderr).toContain('environment ACME_SECRET (the secret of organization acme) is not set')
})

test('schema prints a JSON Schema that knows every setting, and nothing else', async () => {
  const { code, stdout, stderr } = await runCli(['schema'], { cwd: temporaryFolder() })
  const schema = z
    .object({ $schema: z.string(), type: z.literal('object'), properties: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(stdout))

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(schema.$schema).toContain('json-schema.org')
  const settings = [
    'mirror',
    'queue',
    'schedule',
    'jobs',
    'publish',
    'notify',
    'heartbeat',
    'defaults',
    'organizations',
  ]
  expect(Object.keys(schema.properties)).toEqual(settings)
  expect(stdout).toContain('requestsPerMinute')
})
