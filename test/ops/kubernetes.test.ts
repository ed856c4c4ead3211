import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { TIMINGS } from '../../jobs/timings.ts'
import { workerCommand } from '../../src/cli/worker.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { addHealth } from '../../src/http/server.ts'
import { notInTheProgram } from '../support/asked-of-the-program.ts'
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
