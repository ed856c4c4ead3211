import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { TIMINGS } from '../jobs/timings.ts'
import { launcherFiles, manifest, ROOT } from './support/package-checkout.ts'
import { temporaryFolder } from './support/mirror-file.ts'
import { startCli } from './support/run-cli.ts'

const LAUNCHER = 'src/cli/customer-mirror.mjs'

test('npm runs nothing of this package when it is installed, builds it in a checkout, and asks no other registry', () => {
  const scripts = Object.keys(manifest.scripts)
  const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8').split('\n')

  expect(manifest.scripts['prepack']).toBe('run-s build')
  expect(manifest.scripts['build']).toBe('run-s build:clean build:bundle build:types')
  expect(scripts.filter((name) => /install$|^(pre|post)?prepare$|^dependencies$/.test(name))).toEqual(['prepare'])
  expect(readdirSync(ROOT)).not.toContain('binding.gyp')
  // It names no token and no proxy either.
  expect(settings.filter((line) => line.trim() !== '' && !line.startsWith('#'))).toEqual(['loglevel=error'])
})

test('a package is made of what was compiled, the launcher and the pages of PostgreSQL, and has a name of its own', () => {
  expect(manifest.files).toEqual(['dist', 'src/cli/*.mjs', 'docs/operate/postgres.md', 'docs/ops/postgres'])
  expect(launcherFiles()).toContain(manifest.bin['customer-mirror'])
  expect(manifest.name).toMatch(/^@[a-z-]+\//)
})

test.each<[what: string, envOf: (place: string) => Record<string, string>, kept: string | undefined]>([
  ['a home', (place) => ({ HOME: place }), '.cache'],
  ['a cache folder that is named', (place) => ({ XDG_CACHE_HOME: join(place, 'cache') }), 'cache'],
  ['a cache folder that is relative', (place) => ({ XDG_CACHE_HOME: 'here', HOME: place }), '.cache'],
  ['a home that is not there', () => ({ HOME: '/dev/null/none' }), undefined],
])('an installed launcher runs what was compiled, and keeps it where it can: with %s', async (_, envOf, kept) => {
  const { program, folder } = anInstalledLauncher()
  const place = temporaryFolder()
  const ended = await startCli(['sync', 'acme'], { cwd: place, program, env: envOf(place) }).ended

  expect(ended).toMatchObject({ code: 0, stdout: 'compiled program: sync acme\n', stderr: '' })
  expect(readdirSync(folder).toSorted()).toEqual(['dist', 'package.json', 'src'])
  expect(readdirSync(place)).toEqual(kept === undefined ? [] : [kept])
  if (kept !== undefined) expect(readdirSync(join(place, kept, 'customer-mirror'))).not.toEqual([])
})

test('a checkout starts what was built, until a file of it is changed', async () => {
  const { program, folder } = anInstalledLauncher()
  const starts = async () => (await startCli([], { cwd: folder, program, env: {} }).ended).stdout.trim()
  const touch = (path: string, seconds: number) => utimesSync(join(folder, path), seconds, seconds)
  writeText(join(folder, 'src/cli/main.ts'), `console.log('as written')`)
  writeText(join(folder, 'jobs/run/run-job.ts'), '')
  writeText(join(folder, 'package-lock.json'), '{}')

  expect(await starts()).toBe('as written')
  writeText(join(folder, 'dist/commit'), '')
  touch('dist/commit', Date.now() / 1000 + 60)
  expect(await starts()).toBe('compiled program:')
  touch('jobs/run/run-job.ts', Date.now() / 1000 + 120)
  expect(await starts()).toBe('as written')
})

/** Just enough of an installed package for its launcher, with a program that prints how it was called. */
function anInstalledLauncher(): { program: string; folder: string } {
  const folder = temporaryFolder()
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  for (const name of launcherFiles()) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    copyFileSync(join(ROOT, name), join(folder, name))
  }
  writeText(join(folder, 'dist/src/cli/main.js'), `console.log('compiled program:', ...process.argv.slice(2))\n`)
  return { program: join(folder, LAUNCHER), folder }
}

function writeText(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const CHECK = join(ROOT, '.ci/check-licences.mjs')

const PACKAGES: [what: string, licenses: object[], isAllowed: boolean][] = [
  ['a licence of the list', [{ license: { id: 'MIT' } }], true],
  ['a licence to choose', [{ expression: '(GPL-3.0-only OR MIT)' }], true],
  ['another licence', [{ license: { id: 'GPL-3.0-only' } }], false],
  ['a licence by its name only', [{ license: { name: 'Commons Clause' } }], false],
  ['one of the list and another that holds too', [{ license: { id: 'MIT' } }, { license: { id: 'SSPL-1.0' } }], false],
  ['an expression with another that holds too', [{ expression: 'MIT AND SSPL-1.0' }], false],
  ['a nested expression without a free choice', [{ expression: '((MIT OR ISC) AND SSPL-1.0)' }], false],
  ['no licence', [], false],
]

const components = PACKAGES.map(([name, licenses, isAllowed]) => ({ name, version: '2.1.0', licenses, isAllowed }))

test('every change is checked for licences: each package that is not allowed is named and no other, and a list without packages is no proof', () => {
  const { status, stderr } = check(components)
  const refused = components.filter(({ isAllowed }) => !isAllowed)

  expect(status).toBe(1)
  const said = refused.map(({ name }) => expect.stringMatching(new RegExp(`^${name} 2\\.1\\.0: .+`)))
  expect(stderr.trimEnd().split('\n')).toEqual(said)
  expect(check(components.filter(({ isAllowed }) => isAllowed))).toMatchObject({ status: 0, stderr: '' })
  expect(check([])).toMatchObject({ status: 1, stderr: expect.stringContaining('lists no packages') })
  const step = /^step npm run sbom\nstep node \.ci\/check-licences\.mjs sbom\.cdx\.json$/m
  expect(readFileSync(join(ROOT, '.ci/run'), 'utf8')).toMatch(step)
  expect(manifest.scripts['sbom']).toMatch(/^npm sbom --sbom-format=cyclonedx .*--omit=dev .*> sbom\.cdx\.json$/)
})

function check(packages: readonly object[]) {
  const file = join(temporaryFolder(), 'sbom.json')
  writeFileSync(file, JSON.stringify({ bomFormat: 'CycloneDX', components: packages }))
  return spawnSync(process.execPath, [CHECK, file], { encoding: 'utf8' })
}

const file = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'))
const { queue, worker } = file.services

test('what services name is declared; secrets and copies are folders beside the file, and the page is open to this machine alone', () => {
  for (const { networks, depends_on = {}, volumes } of [queue, worker]) {
    expect(Object.keys(file.networks)).toEqual(expect.arrayContaining(networks))
    expect(Object.keys(file.services)).toEqual(expect.arrayContaining(Object.keys(depends_on)))
    for (const each of Object.values(depends_on)) expect(each).toEqual({ condition: 'service_healthy' })
    const named = volumes
      .map((volume: string) => volume.split(':')[0])
      .filter((source: string) => !source.startsWith('.'))
    expect(Object.keys(file.volumes)).toEqual(expect.arrayContaining(named))
  }
  expect(worker.volumes).toEqual(expect.arrayContaining(['./secrets:/run/secrets:ro', './copies:/copies']))
  expect(Object.keys(worker.environment).toSorted()).toEqual(['CUSTOMER_MIRROR_CONFIG', 'CUSTOMER_MIRROR_QUEUE'])
  expect(worker.ports).toEqual(['127.0.0.1:4011:4011'])
  expect(worker.command).toEqual(['worker', '--host', '0.0.0.0'])
  expect(queue.ports).toBeUndefined()
  expect(file.networks['queue']).toEqual({ internal: true })
})

test('the queue keeps what it is given, through restarts and when memory is short', () => {
  const options = queue.command.join(' ')

  expect(queue.image).toMatch(/^(redis:7|valkey\/valkey:)/)
  expect(options).toContain('--appendonly yes')
  expect(options).toContain('--maxmemory-policy noeviction')
  expect(queue.volumes).toEqual(['queue:/data'])
})

test('the worker has time to stop in good order, and is not root', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const graceMs = Number(worker.stop_grace_period.replace('s', '')) * 1000

  expect(TIMINGS.closeMs + 3000).toBeLessThanOrEqual(10_000)
  expect(TIMINGS.handBackMs).toBeLessThan(TIMINGS.closeMs)
  expect(graceMs).toBeGreaterThan(10_000)
  expect(dockerfile).toMatch(/^FROM node:24-bookworm-slim$/m)
  expect(dockerfile).toMatch(/^USER node$/m)
  expect(worker.cap_drop).toEqual(['ALL'])
})

test('the user of the image may read and start the program, also where the umask of the checkout was 077', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const [, unpack = ''] = /^RUN (tar .*)$/m.exec(dockerfile) ?? []
  const folder = temporaryFolder()
  const launcher = 'package/src/cli/customer-mirror.mjs'
  for (const path of ['made/package/src/cli', 'app']) mkdirSync(join(folder, path), { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'made', launcher), '', { mode: 0o700 })
  writeFileSync(join(folder, 'made/package/package.json'), '{}', { mode: 0o600 })
  spawnSync('tar', ['--create', '--gzip', `--file=${folder}/made.tgz`, `--directory=${folder}/made`, 'package'])
  const { status } = spawnSync('sh', ['-c', unpack.replace('/package/', `${folder}/`)], { cwd: join(folder, 'app') })
  const modeOf = (path: string) => (statSync(join(folder, 'app', path)).mode & 0o777).toString(8)

  expect(status).toBe(0)
  expect(['src', 'src/cli/customer-mirror.mjs', 'package.json'].map(modeOf)).toEqual(['755', '755', '644'])
})
