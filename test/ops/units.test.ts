import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { TIMINGS } from '../../jobs/timings.ts'
import { loadCommands } from '../../src/cli/program.ts'
import { workerCommand } from '../../src/cli/worker.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { addHealth } from '../../src/http/server.ts'
import { opsFile } from '../support/metrics.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const probe = z.looseObject({ httpGet: z.strictObject({ path: z.string(), port: z.literal('http') }) })
const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()),
  env: z.array(z.looseObject({ name: z.string() })),
  ports: z.array(z.strictObject({ name: z.literal('http'), containerPort: z.int() })).default([]),
  livenessProbe: probe.optional(),
  readinessProbe: probe.optional(),
  startupProbe: probe.optional(),
  resources: z.looseObject({}).optional(),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })),
})
const pod = z.strictObject({
  restartPolicy: z.literal('Never').optional(),
  automountServiceAccountToken: z.literal(false),
  securityContext: z.looseObject({ runAsNonRoot: z.literal(true), fsGroup: z.literal(1000) }),
  terminationGracePeriodSeconds: z.int(),
  containers: z.tuple([container]),
  volumes: z.array(z.looseObject({ name: z.string() })),
})
const template = z.strictObject({ metadata: z.looseObject({ labels: z.looseObject({}) }), spec: pod })

const WORKER = objectsOf('kubernetes/worker.yaml')
const deployment = z
  .looseObject({
    replicas: z.literal(1),
    strategy: z.strictObject({ type: z.literal('Recreate') }),
    selector: z.looseObject({ matchLabels: z.looseObject({}) }),
    template,
  })
  .parse(WORKER.get('Deployment')?.['spec'])
const cronJob = z
  .looseObject({ jobTemplate: z.strictObject({ spec: z.looseObject({ template }) }) })
  .parse(objectsOf('kubernetes/cronjob.yaml').get('CronJob')?.['spec'])

describe.each([
  ['worker.yaml', deployment.template.spec],
  ['cronjob.yaml', cronJob.jobTemplate.spec.template.spec],
])('%s', (_, { containers: [only], volumes, terminationGracePeriodSeconds }) => {
  test('asks for a command, options and settings that there are', async () => {
    const variables = only.env.map(({ name }) => name)

    expect(await notInTheProgram(only.args)).toEqual([])
    expect(variables.filter((name) => !/^CUSTOMER_MIRROR_(CONFIG|QUEUE)$/.test(name))).toEqual([])
  })

  test('mounts the volumes that it names, and has time to stop', () => {
    const named = volumes.map(({ name }) => name)

    expect(only.volumeMounts.map(({ name }) => name).toSorted()).toEqual(named.toSorted())
    expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(TIMINGS.closeMs + 3000)
  })
})

test('the worker is asked at the port and the paths where it answers', async () => {
  const { containers } = deployment.template.spec
  const [{ ports, livenessProbe, readinessProbe, startupProbe }] = containers
  const io = { signal: new AbortController().signal, stdout: process.stdout, stderr: process.stderr, exitWith() {} }
  const app = new Hono()
  addHealth(app)
  const service = z
    .looseObject({ ports: z.tuple([z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })]) })
    .parse(WORKER.get('Service')?.['spec'])

  expect(ports.map(({ containerPort }) => containerPort)).toEqual([workerCommand(io).opts().port])
  expect(service.ports).toEqual([{ name: 'http', port: ports[0]?.containerPort, targetPort: 'http' }])
  expect(livenessProbe?.httpGet.path).toBe('/healthz')
  expect(readinessProbe?.httpGet.path).toBe('/readyz')
  for (const asked of [livenessProbe, readinessProbe, startupProbe])
    expect((await app.request(asked?.httpGet.path ?? '')).status).toBe(200)
})

test('its labels lead to it', () => {
  const labels = deployment.template.metadata.labels
  const policy = z.looseObject({ podSelector: z.looseObject({}) }).parse(WORKER.get('NetworkPolicy')?.['spec'])

  expect(deployment.selector.matchLabels).toEqual(labels)
  expect(WORKER.get('Service')?.['spec']).toMatchObject({ selector: labels })
  expect(policy.podSelector).toEqual({ matchLabels: labels })
})

test('its configuration is one, with the mirror and the secrets where they are mounted', async () => {
  const [{ volumeMounts, env }] = deployment.template.spec.containers
  const data = z.record(z.string(), z.string()).parse(WORKER.get('ConfigMap')?.['data'])
  const [name = ''] = Object.keys(data)
  const text = data[name] ?? ''
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'config'))
  const file = join(folder, 'config', name)
  writeFileSync(file, text)
  const { mirror } = await readConfig({ file, cwd: folder, environment: {} })
  const mounted = volumeMounts.map(({ mountPath }) => mountPath)

  expect(mounted.some((path) => mirror.startsWith(`${path}/`))).toBe(true)
  for (const [, path = ''] of text.matchAll(/file: (\S+)/g)) expect(path).toMatch(/^\/run\/secrets\//)
  expect(env).toContainEqual({ name: 'CUSTOMER_MIRROR_CONFIG', value: `/etc/customer-mirror/${name}` })
  expect(mounted).toEqual(expect.arrayContaining(['/etc/customer-mirror', '/run/secrets']))
})

/** The objects of a manifest, by their kind. */
function objectsOf(file: string): Map<string, Record<string, unknown>> {
  const object = z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({}) })
  const documents = parseAllDocuments(opsFile(file)).map((document) => {
    expect(document.errors).toEqual([])
    return object.parse(document.toJS())
  })
  return new Map(documents.map((each) => [each.kind, each]))
}

const PROGRAM = '/usr/local/bin/customer-mirror'
const NAMES = readdirSync(new URL('../../docs/ops/systemd/', import.meta.url))
const SERVICES = NAMES.filter((name) => name.endsWith('.service'))
const unit = (name: string) => opsFile(`systemd/${name}`)

/** The values of a setting of a unit, in their order. */
function valuesOf(name: string, setting: string): string[] {
  return [...unit(name).matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

describe.each(SERVICES)('%s', (name) => {
  test('runs a command that there is, and the words of its settings are of the program', async () => {
    const [[program, ...words] = []] = valuesOf(name, 'ExecStart').map((line) => line.split(' '))
    const variables = valuesOf(name, 'Environment').map((line) => line.replace(/=.*/, ''))

    expect(program).toBe(PROGRAM)
    expect(await notInTheProgram(words)).toEqual([])
    expect(variables.toSorted()).toEqual(['CUSTOMER_MIRROR_CONFIG', 'XDG_CACHE_HOME'])
  })

  test('may write where its command does, and nowhere else', () => {
    const [writable = ''] = valuesOf(name, 'ReadWritePaths')
    const files = valuesOf(name, 'ExecStart').flatMap((line) => line.split(' ').slice(1))
    const written = files.filter((word) => word.startsWith('/'))

    expect(valuesOf(name, 'ProtectSystem')).toEqual(['strict'])
    expect(writable.split(' ')).toContain('/srv/customer-mirror/data')
    expect(written.filter((file) => !writable.split(' ').some((folder) => file.startsWith(`${folder}/`)))).toEqual([])
  })
})

test('the worker has time to stop in good order', () => {
  const [seconds] = valuesOf('customer-mirror-worker.service', 'TimeoutStopSec')

  expect(Number(seconds) * 1000).toBeGreaterThan(TIMINGS.closeMs + 3000)
  expect(valuesOf('customer-mirror-worker.service', 'SuccessExitStatus')).toEqual(['143'])
})

test('each timer starts a service that is there', () => {
  const timers = NAMES.filter((name) => name.endsWith('.timer'))

  expect(timers).toHaveLength(2)
  expect(timers.filter((name) => !SERVICES.includes(name.replace('.timer', '.service')))).toEqual([])
})

if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
  test('the units are not verified, since systemd is not installed here', () => {
    console.log('untested: systemd-analyze verify and security. systemd is not installed here.')
  })
} else {
  test('systemd understands every unit, and a service is exposed to little', () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'units'))
    // systemd looks whether the program is there.
    for (const name of NAMES)
      writeFileSync(join(folder, 'units', name), unit(name).replaceAll(PROGRAM, process.execPath))
    const files = (names: readonly string[]) => names.map((name) => join(folder, 'units', name))
    const verified = analyze(['verify', '--man=no', ...files(NAMES)])
    // 0 is exposed to nothing, 10 to everything.
    const secured = analyze(['security', '--offline=true', '--threshold=30', ...files(SERVICES)])

    expect(verified).toEqual({ code: 0, complaints: '' })
    expect(secured).toEqual({ code: 0, complaints: '' })
  })
}

function analyze(args: readonly string[]): { code: number | null; complaints: string } {
  const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  return { code: status, complaints: stderr }
}

/** What a command line asks for that the program does not have: a command, an option, a choice. */
export async function notInTheProgram([name = '', ...words]: readonly string[]): Promise<string[]> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const signal = new AbortController().signal
  const commands = await loadCommands(name, { signal, stdout, stderr, exitWith: () => {} })
  const command = commands.find((each) => each.name() === name)
  if (command === undefined) return [name]
  return words.flatMap((word, index) => {
    if (!word.startsWith('-')) return []
    const option = command.options.find(({ long, short }) => [long, short].includes(word))
    const value = words[index + 1] ?? ''
    const isNoChoice = option?.argChoices !== undefined && !option.argChoices.includes(value)
    const lacksValue = option?.required === true && (value === '' || value.startsWith('-'))
    if (option === undefined || isNoChoice || lacksValue) return [`${name} ${word} ${value}`]
    return []
  })
}
