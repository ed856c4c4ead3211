import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { initCommand } from '../../src/cli/init.ts'
import type { Io } from '../../src/cli/io.ts'
import { schemaCommand } from '../../src/cli/schema.ts'
import { configJsonSchema } from '../../src/config/schema.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { acme, aFolder, configOf } from './configuration-folder.ts'

function anIo(): { io: Io; said: () => Promise<{ stdout: string; stderr: string }> } {
  const stdout = new PassThrough()
  const stderr = new PassThrough()
  const said = async (): Promise<{ stdout: string; stderr: string }> => {
    stdout.end()
    stderr.end()
    return { stdout: await text(stdout), stderr: await text(stderr) }
  }
  return { io: { signal: new AbortController().signal, stdout, stderr, exitWith: () => undefined }, said }
}

async function written(): Promise<{ cwd: string; file: string; content: string }> {
  const cwd = await aFolder()
  const file = join(cwd, 'customer-mirror.yaml')
  await initCommand(anIo().io).parseAsync([file], { from: 'user' })
  return { cwd, file, content: await readFile(file, 'utf8') }
}

test('init writes a valid configuration, readable by this user only, and prints three next steps', async () => {
  const file = join(await aFolder(), 'mine.yaml')
  const { io, said } = anIo()
  await initCommand(io).parseAsync([file], { from: 'user' })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await readConfig({ cwd: '/', file, environment: {} })).organizations.map(({ id }) => id)).toEqual(['acme'])
  const { stdout, stderr } = await said()
  expect(stdout).toBe('')
  expect(stderr.match(/^ {2}\d\. .+$/gm)).toHaveLength(3)
})

test('init never overwrites', async () => {
  const { cwd, file } = await written()
  await writeFile(file, 'precious')
  await expect(initCommand(anIo().io).parseAsync([file], { from: 'user' })).rejects.toThrow(UsageError)
  expect(await readFile(file, 'utf8')).toBe('precious')
  await expect(initCommand(anIo().io).parseAsync([join(cwd, 'no', 'x.yaml')], { from: 'user' })).rejects.toThrow(
    /folder/,
  )
})

test.runIf(existsSync('/proc/self'))('init names the call that failed in a folder that takes no files', async () => {
  await expect(initCommand(anIo().io).parseAsync(['/proc/x.yaml'], { from: 'user' })).rejects.toThrow(
    'cannot write /proc/x.yaml: no such file or directory (open, ENOENT). Check the name, who owns it and its folder,',
  )
})

test('every line that is commented out of the starter file is a setting that works, with its built-in value', async () => {
  const { content } = await written()
  const everything = content.replaceAll(/^# ((?: {2,})?[a-zA-Z]+:(?: .*)?)$/gm, (line, setting: string) =>
    /^# (yaml|Completion)/.test(line) ? line : setting,
  )
  expect(Object.keys(z.record(z.string(), z.unknown()).parse(parse(everything)))).toEqual([
    'mirror',
    'schedule',
    'queue',
    'jobs',
    'publish',
    'notify',
    'heartbeat',
    'defaults',
    'organizations',
  ])
  const [named] = (await configOf(everything)).organizations
  const [plain] = (await configOf(content)).organizations
  expect(named?.privacy).toEqual({ drop: ['address'], hash: ['phone'], key: { env: 'PRIVACY_KEY' } })
  expect({ ...named, rateLimit: {}, schedule: undefined, privacy: undefined }).toEqual(plain)
})

test('the starter file names no page of the documents, which an installed program does not have', async () => {
  expect((await written()).content).not.toContain('docs/')
})

test('the JSON Schema accepts the starter file and refuses a misspelt key', async () => {
  const { content } = await written()
  const schema = z.fromJSONSchema(configJsonSchema())
  expect(schema.safeParse(parse(content)).error).toBeUndefined()
  expect(schema.safeParse(parse(acme('pageSise: 1'))).success).toBe(false)
  expect(schema.safeParse(parse(acme().replace('ACME_SECRET', 'A, file: b'))).success).toBe(false)
})

test('schema prints the JSON Schema, and every key in it is described', async () => {
  const { io, said } = anIo()
  await schemaCommand(io).parseAsync([], { from: 'user' })
  const printed: unknown = JSON.parse((await said()).stdout)
  expect(printed).toEqual(configJsonSchema())
  expect(undescribed(printed, '')).toEqual([])
})

test('the JSON Schema says of each duration which ones are taken', () => {
  const titles = [...JSON.stringify(configJsonSchema()).matchAll(/"title":"(a duration.*?)"/g)].map(
    ([, title]) => title,
  )
  expect(new Set(titles)).toEqual(
    new Set([
      'a duration from 0s to 1d',
      'a duration from 100ms to 1h',
      'a duration from 0s to 24d',
      'a duration from 1d to 36500d, such as 365d, or forever',
    ]),
  )
})

test('the defaults that the JSON Schema names are the ones that hold', async () => {
  const { properties } = z.object({ properties: z.object({ defaults: z.unknown() }) }).parse(configJsonSchema())
  const named = defaultsIn(properties.defaults)
  expect(named).toMatchObject({ maxWait: '15m', removals: { maxShare: 0.1 }, signing: { encoding: 'hex' } })
  expect((await configOf(acme('<<<').replace('    <<<', lines(named)))).organizations).toEqual(
    (await configOf(acme())).organizations,
  )
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

function lines(settings: Record<string, unknown>): string {
  return Object.entries(settings)
    .map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`)
    .join('\n')
}

const node = z.looseObject({ properties: z.record(z.string(), z.looseObject({ description: z.unknown() })).optional() })

function undescribed(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => undescribed(item, path))
  const parsed = node.safeParse(value)
  if (!parsed.success) return []
  const { properties = {}, ...rest } = parsed.data
  const here = Object.entries(properties).flatMap(([key, inner]) => [
    ...(typeof inner.description === 'string' && inner.description !== '' ? [] : [`${path}.${key}`]),
    ...undescribed(inner, `${path}.${key}`),
  ])
  return [...here, ...Object.values(rest).flatMap((inner) => undescribed(inner, path))]
}
