import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { TIMINGS } from '../jobs/timings.ts'
import { temporaryFolder } from './support/temp-folder.ts'

const root = new URL('../', import.meta.url)
const text = readFileSync(new URL('docker-compose.yml', root), 'utf8')

/** The part of the Compose specification that is used here; a key that is not in it is a misspelling. */
const healthcheck = z.strictObject({
  test: z.array(z.string()).min(2),
  interval: z.string(),
  timeout: z.string(),
  retries: z.int(),
  start_period: z.string(),
})
const service = z.strictObject({
  image: z.string().optional(),
  build: z.strictObject({ context: z.literal('.'), args: z.array(z.string()) }).optional(),
  restart: z.literal('unless-stopped'),
  command: z.array(z.string()).optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  volumes: z.array(z.string().regex(/^[^:]+:\/[^:]+(:ro)?$/)),
  secrets: z.array(z.string()).optional(),
  networks: z.array(z.string()),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  healthcheck,
})
const compose = z.strictObject({
  name: z.string(),
  services: z.strictObject({ queue: service, worker: service }),
  networks: z.record(z.string(), z.strictObject({ internal: z.boolean() }).nullable()),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
})

const file = compose.parse(parse(text))
const { queue, worker } = file.services

test('everything a service names is declared', () => {
  for (const { networks, secrets = [], depends_on = {}, volumes } of [queue, worker]) {
    expect(Object.keys(file.networks)).toEqual(expect.arrayContaining(networks))
    expect(Object.keys(file.secrets)).toEqual(expect.arrayContaining(secrets))
    expect(Object.keys(file.services)).toEqual(expect.arrayContaining(Object.keys(depends_on)))
    const named = volumes.map((volume) => volume.split(':')[0] ?? '').filter((source) => !source.startsWith('.'))
    expect(Object.keys(file.volumes)).toEqual(expect.arrayContaining(named))
  }
})

test('the queue keeps what it is given, through restarts and when memory is short', () => {
  const options = queue.command?.join(' ') ?? ''

  expect(queue.image).toMatch(/^(redis:7|valkey\/valkey:)/)
  expect(options).toContain('--appendonly yes')
  expect(options).toContain('--maxmemory-policy noeviction')
  expect(queue.volumes).toEqual(['queue:/data'])
})

test('the worker has time to stop in good order, and is not root', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')
  const graceMs = Number(worker.stop_grace_period?.replace('s', '')) * 1000

  expect(TIMINGS.closeMs + 3000).toBeLessThanOrEqual(10_000)
  expect(TIMINGS.handBackMs).toBeLessThan(TIMINGS.closeMs)
  expect(graceMs).toBeGreaterThan(10_000)
  expect(dockerfile).toMatch(/^FROM node:24-bookworm-slim$/m)
  expect(dockerfile).toMatch(/^USER node$/m)
  expect(dockerfile).toMatch(/npm ci --omit=dev/)
  expect(dockerfile).toMatch(/npm pack --pack-destination \/package$/m)
  expect(dockerfile).toMatch(/^ENTRYPOINT \["customer-mirror"\]$/m)
  expect(worker.cap_drop).toEqual(['ALL'])
})

test('the image knows the commit that its build is told', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')
  const [packing = ''] = dockerfile.split(/^FROM .* AS installed$/m)

  expect(worker.build?.args).toEqual(['CUSTOMER_MIRROR_COMMIT'])
  expect(packing).toMatch(/^ARG CUSTOMER_MIRROR_COMMIT=\n.*npm pack/m)
})

test('the user of the image may read and start the program, also where the umask of the checkout was 077', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')
  const [, unpack = ''] = /^RUN (tar .*)$/m.exec(dockerfile) ?? []
  const folder = temporaryFolder()
  const launcher = 'package/src/cli/customer-mirror.mjs'
  for (const path of ['made/package/src/cli', 'app']) mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'made', launcher), '', { mode: 0o700 })
  writeFileSync(join(folder, 'made/package/package.json'), '{}', { mode: 0o600 })
  for (const path of ['made/package', 'made/package/src']) chmodSync(join(folder, path), 0o700)
  spawnSync('tar', ['--create', '--gzip', `--file=${folder}/made.tgz`, `--directory=${folder}/made`, 'package'])
  const { status } = spawnSync('sh', ['-c', unpack.replace('/package/', `${folder}/`)], { cwd: join(folder, 'app') })
  const modeOf = (path: string) => (statSync(join(folder, 'app', path)).mode & 0o777).toString(8)

  expect(status).toBe(0)
  expect(['src', 'src/cli/customer-mirror.mjs', 'package.json'].map(modeOf)).toEqual(['755', '755', '644'])
})

test('secrets are files, and no port is open to others', () => {
  expect(worker.secrets).toEqual(Object.keys(file.secrets))
  expect(Object.keys(worker.environment ?? {}).toSorted()).toEqual(['CUSTOMER_MIRROR_CONFIG', 'CUSTOMER_MIRROR_QUEUE'])
  expect(text).not.toMatch(/^\s*ports:/m)
  expect(file.networks['queue']).toEqual({ internal: true })
})
