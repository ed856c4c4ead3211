import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { env as ours, execPath, version as nodeVersion } from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { z } from 'zod'
import { rowsOf } from './support/mirror-file.ts'
import { startCli, type Ended, type ProcessOptions } from './support/run-cli.ts'
import { temporaryFolder } from './support/temp-folder.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const LAUNCHER = 'src/cli/customer-mirror.mjs'
const ALWAYS = ['LICENSE', 'README.md', 'package.json']
const manifest = z
  .object({
    name: z.string(),
    version: z.string(),
    bin: z.record(z.string(), z.string()),
    scripts: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))

test('npm runs nothing of this package when it is installed', () => {
  const scripts = Object.keys(manifest.scripts)

  expect(scripts).toContain('prepack')
  expect(scripts.filter((name) => /^(pre|post)?install$|^(pre|post)?prepare$|^dependencies$/.test(name))).toEqual([])
  expect(existsSync(join(ROOT, 'binding.gyp'))).toBe(false)
})

test('a package is made of what was compiled, the launcher and the licence, and of nothing else', () => {
  const checkout = aCheckout(join(temporaryFolder(), 'checkout'))
  writeText(join(checkout, 'dist/src/cli/main.js'), '')
  writeText(join(checkout, 'data/customers.db'), '')
  writeText(join(checkout, 'customer-mirror.yaml'), '')
  const { files } = pack(checkout, '--dry-run', '--ignore-scripts')

  expect(files).toEqual([...ALWAYS, 'dist/src/cli/main.js', ...launcherFiles()].toSorted())
  expect(files).toContain(manifest.bin['customer-mirror'])
  expect(manifest.name).toMatch(/^@[a-z-]+\//)
})

describe('the launcher of an installed package', () => {
  test('runs what was compiled, and keeps what Node makes of it in the cache folder of the user', async () => {
    const { program, folder } = anInstalledLauncher()
    const home = temporaryFolder()

    expect(await runToEnd(['sync', 'acme'], { cwd: home, program, env: { HOME: home } })).toMatchObject({
      code: 0,
      stdout: 'compiled program: sync acme\n',
      stderr: '',
    })
    expect(readdirSync(join(home, '.cache', 'customer-mirror'))).not.toEqual([])
    expect(readdirSync(folder).toSorted()).toEqual(['dist', 'package.json', 'src'])
  })

  test.each([
    ['a cache folder that is named', (place: string) => ({ XDG_CACHE_HOME: join(place, 'cache') }), 'cache'],
    ['a cache folder that is relative', (place: string) => ({ XDG_CACHE_HOME: 'here', HOME: place }), '.cache'],
    ['a home that is no folder', () => ({ HOME: '/dev/null' }), undefined],
    ['a home that is not there', () => ({ HOME: '/dev/null/none' }), undefined],
  ])('works with %s', async (_, envOf, kept) => {
    const { program } = anInstalledLauncher()
    const place = temporaryFolder()
    const ended = await runToEnd(['status'], { cwd: place, program, env: envOf(place) })

    expect(ended).toMatchObject({ code: 0, stdout: 'compiled program: status\n', stderr: '' })
    expect(readdirSync(place)).toEqual(kept === undefined ? [] : [kept])
  })
})

describe.runIf(inject('isDeep'))('the package, packed and installed', () => {
  let program = ''
  let installed = ''
  let files: string[] = []

  let place = ''

  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'customer-mirror-package-'))
    const prefix = join(place, 'prefix')
    const packed = pack(aCheckout(join(place, 'checkout')))
    files = packed.files
    mkdirSync(prefix)
    // Whatever npm has downloaded before is not asked for again.
    npm(prefix, 'install', '--global', '--prefix', prefix, '--ignore-scripts', '--prefer-offline', packed.tarball)
    program = join(prefix, 'bin', 'customer-mirror')
    installed = join(prefix, 'lib', 'node_modules', manifest.name)
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  test('it holds every file of the program, compiled, and everything those read', () => {
    const sources = filesIn('src').concat(filesIn('jobs'))
    const compiled = sources
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
      .map((path) => `dist/${path.replace(/\.ts$/, '.js')}`)
    const read = sources.filter((path) => !/\.(ts|mjs|json)$/.test(path)).map((path) => `dist/${path}`)

    expect(read).toContain('dist/src/mirror/migrations/0001-initial.sql')
    expect(read).toContain('dist/src/cli/completion/customer-mirror.bash')
    expect(files).toEqual([...ALWAYS, ...compiled, ...read, ...launcherFiles()].toSorted())
  })

  test.each([
    [`Node ${nodeVersion}, which tests it`, dirname(execPath)],
    ['the Node on PATH', pathOfTheUser()],
  ])('it works from nothing to a mirror and its worker, on %s', async (_, path) => {
    const cwd = temporaryFolder()
    const run = { cwd, program, env: { PATH: [path, '/usr/bin', '/bin'].join(delimiter), HOME: join(cwd, 'home') } }

    expect(await runToEnd(['--version'], run)).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
    expect(await runToEnd(['init', 'mine.yaml'], run)).toMatchObject({ code: 0 })
    expect((await runToEnd(['completion', 'bash'], run)).stdout).toContain('complete -F')
    expect(readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toContain('organizations:')

    const sandbox = startCli(['sandbox', '--port', '0', '--customers', '230,7', '--write-config', 'trial.yaml'], run)
    await sandbox.lineOnStderr(/^Wrote trial\.yaml/)
    expect(await runToEnd(['sync', '--config', 'trial.yaml'], run)).toMatchObject({ code: 0 })
    expect(await runToEnd(['worker', '--once', '--embedded', '--config', 'trial.yaml'], run)).toMatchObject({ code: 0 })
    sandbox.send('SIGTERM')
    const count = ['sql', '--csv', '--config', 'trial.yaml', 'SELECT COUNT(*) AS number FROM active_customers']
    expect(await runToEnd(count, run)).toMatchObject({ code: 0, stdout: 'number\r\n237\r\n', stderr: '' })

    expect(await sandbox.ended).toMatchObject({ code: 143 })
    expect(rowsOf(join(cwd, 'data', 'customers.db'), RUNS)).toEqual([
      { organization: 'acme', proof: 'proven', inserted: 230, unchanged: 0 },
      { organization: 'globex', proof: 'proven', inserted: 7, unchanged: 0 },
      { organization: 'acme', proof: 'proven', inserted: 0, unchanged: 230 },
      { organization: 'globex', proof: 'proven', inserted: 0, unchanged: 7 },
    ])
    expect(existsSync(join(installed, 'node_modules', '.cache'))).toBe(false)
  })
})

const RUNS = `SELECT organization, proof, inserted, unchanged FROM runs
  ORDER BY row_number() OVER (PARTITION BY organization ORDER BY id), organization`

/** A copy of this checkout, so that nothing is compiled or packed beside what other tests read. */
function aCheckout(folder: string): string {
  mkdirSync(folder)
  for (const name of [...ALWAYS, 'tsconfig.json']) copyFileSync(join(ROOT, name), join(folder, name))
  for (const name of ['src', 'jobs']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Just enough of an installed package for its launcher, with a program that prints how it was called. */
function anInstalledLauncher(): { program: string; folder: string } {
  const folder = temporaryFolder()
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  for (const name of launcherFiles()) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    copyFileSync(join(ROOT, name), join(folder, name))
  }
  writeText(join(folder, 'dist/src/cli/main.js'), `console.log('compiled program:', ...process.argv.slice(2))\n`)
  writeText(join(folder, 'dist/src/heap-size.js'), 'export function setHeapSize() {}\n')
  return { program: join(folder, LAUNCHER), folder }
}

function runToEnd(args: readonly string[], options: ProcessOptions): Promise<Ended> {
  return startCli(args, options).ended
}

function launcherFiles(): string[] {
  return filesIn('src/cli').filter((path) => path.endsWith('.mjs'))
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
}

function writeText(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Packs the checkout; the paths in the tarball, sorted. */
function pack(checkout: string, ...options: string[]): { tarball: string; files: string[] } {
  const [packed] = z
    .array(z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) }))
    .parse(JSON.parse(npm(checkout, 'pack', '--json', ...options).replace(/^[^[]*(?=\[)/, '')))
  if (packed === undefined) throw new Error('npm has packed nothing')
  return { tarball: join(checkout, packed.filename), files: packed.files.map(({ path }) => path).toSorted() }
}

function npm(cwd: string, ...args: string[]): string {
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund', '--no-update-notifier', '--foreground-scripts=false']
  const { status, stdout, stderr } = spawnSync('npm', [...args, ...quiet], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}:\n${stderr}${stdout}`)
  return stdout
}

/** The folders in which a user's shell looks for Node, without those that npm puts before them. */
function pathOfTheUser(): string {
  const folders = (ours['PATH'] ?? '').split(delimiter)
  return folders.filter((folder) => !/node_modules|node-gyp-bin/.test(folder)).join(delimiter)
}
