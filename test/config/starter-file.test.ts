import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { initCommand, schemaCommand } from '../../src/cli/init.ts'
import { configJsonSchema } from '../../src/config/schema.ts'
import { runCommand } from '../support/run-cli.ts'
import { acme, aFolder, configOf } from './configuration-folder.ts'

async function starterFile(): Promise<string> {
  const file = join(await aFolder(), 'customer-mirror.yaml')
  await runCommand(initCommand, [file])
  return readFile(file, 'utf8')
}

test.runIf(existsSync('/proc/self'))('init names the call that failed in a folder that takes no files', async () => {
  expect((await runCommand(initCommand, ['/proc/x.yaml'])).stderr).toContain(
    'cannot write /proc/x.yaml: no such file or directory (open, ENOENT). What was there before is unchanged. Check the name,',
  )
})

test('every line that is commented out of the starter file is a setting that works, with its built-in value', async () => {
  const content = await starterFile()
  const everything = content.replaceAll(/^# ((?: {2,})?[a-zA-Z]+:(?: .*)?)$/gm, (line, setting: string) =>
    /^# (yaml|Completion)/.test(line) ? line : setting,
  )
  expect(Object.keys(z.record(z.string(), z.unknown()).parse(parse(everything)))).toEqual([
    ...['mirror', 'schedule', 'queue', 'publish', 'notify', 'heartbeat', 'defaults', 'organizations'],
  ])
  const [named] = (await configOf(everything)).organizations
  const [plain] = (await configOf(content)).organizations
  expect(named?.privacy).toEqual({ drop: ['address'], hash: [], key: undefined })
  expect({ ...named, rateLimit: {}, schedule: undefined, privacy: undefined }).toEqual(plain)
})

test('schema prints a JSON Schema that knows every setting, accepts the starter file and refuses a misspelt key', async () => {
  const content = await starterFile()
  const { code, stdout } = await runCommand(schemaCommand, [])
  const schema = z.fromJSONSchema(JSON.parse(stdout))
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/json-schema\.org[^]*requestsPerMinute/) })
  expect(Object.keys(JSON.parse(stdout).properties)).toEqual([
    ...['mirror', 'queue', 'schedule', 'jobs', 'publish', 'notify', 'serve', 'heartbeat', 'defaults', 'organizations'],
  ])
  expect(schema.safeParse(parse(content)).error).toBeUndefined()
  expect(schema.safeParse(parse(acme('pageSise: 1'))).success).toBe(false)
  expect(schema.safeParse(parse(acme().replace('ACME_SECRET', 'A, file: b'))).success).toBe(false)
})

test('the defaults that the JSON Schema names are the ones that hold', async () => {
  const { properties } = z
    .object({ properties: z.object({ defaults: z.unknown(), jobs: z.unknown() }) })
    .parse(configJsonSchema())
  const named = defaultsIn(properties.defaults)
  const lines = Object.entries(named).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  const plain = await configOf(acme())
  expect(named).toMatchObject({ maxWait: '15m', removals: { maxShare: 0.1 }, signing: { encoding: 'hex' } })
  expect((await configOf(acme(...lines))).organizations).toEqual(plain.organizations)
  expect(plain.jobs).toEqual({ concurrency: 8, ...defaultsIn(properties.jobs) })
})

function defaultsIn(value: unknown): Record<string, unknown> {
  const { properties } = z.object({ properties: z.record(z.string(), z.looseObject({})) }).parse(value)
  return Object.fromEntries(
    Object.entries(properties).flatMap(([key, inner]) => {
      if (inner['default'] !== undefined) return [[key, inner['default']]]
      const named = inner['properties'] === undefined ? {} : defaultsIn(inner)
      return Object.keys(named).length === 0 ? [] : [[key, named]]
    }),
  )
}
