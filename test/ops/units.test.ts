import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { TIMINGS } from '../../jobs/timings.ts'
import { loadCommands } from '../../src/cli/program.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { opsFile } from '../support/metrics.ts'
import { temporaryFolder } from '../support/mirror-file.ts'

const WORKER = objectsOf('kubernetes/worker.yaml')
const deployment = WORKER['Deployment'].spec
const IN_CONTAINER = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }

test.each([
  ['worker.yaml', deployment.template.spec],
  ['cronjob.yaml', objectsOf('kubernetes/cronjob.yaml')['CronJob'].spec.jobTemplate.spec.template.spec],
])('%s asks for what there is, mounts the volumes that it names, has time to stop, and few rights', async (_, spec) => {
  const [{ args, env, volumeMounts }] = spec.containers
  const names = (each: readonly { name: string }[]) => each.map(({ name }) => name).toSorted()

  expect(await notInTheProgram(args)).toEqual([])
  expect(names(env).filter((name) => !/^CUSTOMER_MIRROR_(CONFIG|QUEUE)$/.test(name))).toEqual([])
  expect(names(volumeMounts)).toEqual(names(spec.volumes))
  expect(spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(TIMINGS.closeMs + 3000)
  expect(spec).toMatchObject({
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, fsGroup: 1000 },
    containers: [{ securityContext: IN_CONTAINER }],
  })
})

test('there is one worker, which is asked where it answers; its labels lead to it, and its configuration is where it is mounted', async () => {
  const { labels } = deployment.template.metadata
  const [{ volumeMounts, env, ...container }] = deployment.template.spec.containers
  const [command] = await commandsNamed('worker')
  const at = (path: string) => ({ httpGet: { path, port: 'http' } })
  const [[name, text] = ['', '']] = Object.entries<string>(WORKER['ConfigMap'].data)
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'config'))
  const file = join(folder, 'config', name)
  writeFileSync(file, text)
  const { mirror } = await readConfig({ file, cwd: folder, environment: {} })
  const mounted: string[] = volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)

  expect(deployment).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' }, selector: { matchLabels: labels } })
  const port: unknown = command?.opts()['port']
  expect(container).toMatchObject({
    ports: [{ name: 'http', containerPort: port }],
    ...{ livenessProbe: at('/healthz'), readinessProbe: at('/readyz'), startupProbe: at('/healthz') },
  })
  const ports = [{ name: 'http', port, targetPort: 'http' }]
  expect(WORKER['Service'].spec).toMatchObject({ selector: labels, ports })
  expect(WORKER['NetworkPolicy'].spec).toMatchObject({ podSelector: { matchLabels: labels } })
  expect(mounted.some((path) => mirror.startsWith(`${path}/`))).toBe(true)
  for (const [, path = ''] of text.matchAll(/file: (\S+)/g)) expect(path).toMatch(/^\/run\/secrets\//)
  expect(env).toContainEqual({ name: 'CUSTOMER_MIRROR_CONFIG', value: `/etc/customer-mirror/${name}` })
  expect(mounted).toEqual(expect.arrayContaining(['/etc/customer-mirror', '/run/secrets']))
})

function objectsOf(file: string) {
  const documents = parseAllDocuments(opsFile(file)).map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
  return Object.fromEntries(documents.map((each) => [each.kind, each]))
}

const PROGRAM = '/usr/local/bin/customer-mirror'
const NAMES = readdirSync(new URL('../../docs/ops/systemd/', import.meta.url))
const SERVICES = NAMES.filter((name) => name.endsWith('.service'))
const unit = (name: string) => opsFile(`systemd/${name}`)

function valuesOf(name: string, setting: string): string[] {
  return [...unit(name).matchAll(new RegExp(`^${setting}=(.*)$`, 'gm'))].map(([, value = '']) => value)
}

test.each(SERVICES)(
  '%s runs a command that there is, and may write where that does, and nowhere else',
  async (name) => {
    const [[program, ...words] = []] = valuesOf(name, 'ExecStart').map((line) => line.split(' '))
    const variables = valuesOf(name, 'Environment').map((line) => line.replace(/=.*/, ''))
    const writable = valuesOf(name, 'ReadWritePaths').flatMap((line) => line.split(' '))
    const written = words.filter((word) => word.startsWith('/'))

    expect(program).toBe(PROGRAM)
    expect(await notInTheProgram(words)).toEqual([])
    const arenas = name === 'customer-mirror-worker.service' ? ['MALLOC_ARENA_MAX'] : []
    expect(variables.toSorted()).toEqual(['CUSTOMER_MIRROR_CONFIG', ...arenas, 'XDG_CACHE_HOME'])
    expect(valuesOf(name, 'ProtectSystem')).toEqual(['strict'])
    expect(writable).toContain('/srv/customer-mirror/data')
    expect(written.filter((file) => !writable.some((folder) => file.startsWith(`${folder}/`)))).toEqual([])
  },
)

test('the worker has time to stop in good order, and each timer starts a service that is there', () => {
  const timers = NAMES.filter((name) => name.endsWith('.timer'))
  const [seconds] = valuesOf('customer-mirror-worker.service', 'TimeoutStopSec')

  expect(Number(seconds) * 1000).toBeGreaterThan(TIMINGS.closeMs + 3000)
  expect(valuesOf('customer-mirror-worker.service', 'SuccessExitStatus')).toEqual(['143'])
  expect(timers).toHaveLength(2)
  expect(timers.filter((name) => !SERVICES.includes(name.replace('.timer', '.service')))).toEqual([])
})

const isInstalled = spawnSync('systemd-analyze', ['--version']).status === 0
test.skipIf(!isInstalled)('systemd understands every unit, and a service is exposed to little', () => {
  const folder = temporaryFolder()
  // systemd looks whether the program is there.
  for (const name of NAMES) writeFileSync(join(folder, name), unit(name).replaceAll(PROGRAM, process.execPath))
  const files = (names: readonly string[]) => names.map((name) => join(folder, name))
  const verified = analyze(['verify', '--man=no', ...files(NAMES)])
  // 0 is exposed to nothing, 10 to everything.
  const secured = analyze(['security', '--offline=true', '--threshold=30', ...files(SERVICES)])

  expect(verified).toEqual({ code: 0, complaints: '' })
  expect(secured).toEqual({ code: 0, complaints: '' })
})

function analyze(args: readonly string[]): { code: number | null; complaints: string } {
  const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  return { code: status, complaints: stderr }
}

async function commandsNamed(name: string) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const commands = await loadCommands(name, { signal: AbortSignal.any([]), stdout, stderr, exitWith: () => {} })
  return commands.filter((each) => each.name() === name)
}

/** What a command line asks for that the program does not have: a command, an option, a choice. */
async function notInTheProgram([name = '', ...words]: readonly string[]): Promise<string[]> {
  const [command] = await commandsNamed(name)
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
