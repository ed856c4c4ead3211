import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/read-config.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

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
