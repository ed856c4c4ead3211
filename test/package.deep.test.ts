import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { env as ours, execPath } from 'node:process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LIBRARY_EXAMPLE } from './support/documents.ts'
import { rowsOf, temporaryFolder } from './support/mirror-file.ts'
import { startCli } from './support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from './support/workplace.ts'
import { manifest, ALWAYS, aCheckout, launcherFiles, packedDocuments, pack, npm } from './support/package-checkout.ts'

describe('the package, packed and installed', () => {
  let [place, checkout, program, installed] = ['', '', '', '']
  let files: string[] = []

  beforeAll(async () => {
    place = fs.mkdtempSync(join(tmpdir(), 'customer-mirror-package-'))
    const prefix = join(place, 'prefix')
    checkout = aCheckout(join(place, 'checkout'))
    for (const part of ['objects', 'refs']) fs.mkdirSync(join(checkout, '.git', part), { recursive: true })
    fs.writeFileSync(join(checkout, '.git/HEAD'), `${'c0ffee'.repeat(7).slice(0, 40)}\n`)
    const packed = await pack(checkout)
    files = packed.files
    fs.mkdirSync(prefix)
    npm(prefix, 'install', '--global', '--prefix', prefix, '--ignore-scripts', '--prefer-offline', packed.tarball)
    program = join(prefix, 'bin', 'customer-mirror')
    installed = join(prefix, 'lib', 'node_modules', manifest.name)
  })
  afterAll(() => fs.rmSync(place, { recursive: true, force: true }))

  test('it holds the program, compiled, with the types of the library, and nothing else', () => {
    const programs = ['cli/main', 'library', 'cli/statement-process', 'report/publish-process']
    const made = files.filter((path) => path.startsWith('dist/'))
    const isType = (path: string) => path.startsWith('dist/src/') && path.endsWith('.d.ts')

    const others = files.filter((path) => !made.includes(path))
    expect(others).toEqual([...ALWAYS, ...launcherFiles(), ...packedDocuments()].toSorted())
    expect(made.filter((path) => !isType(path) && !path.startsWith('dist/parts/'))).toEqual(
      ['dist/commit', ...programs.map((name) => `dist/src/${name}.js`)].toSorted(),
    )
    expect(made).toContain('dist/src/library.d.ts')
    expect(made.filter((path) => path.includes('jobs') && isType(path))).toEqual([])
  })

  test('it works from nothing to a mirror and its worker, on the Node on PATH', async () => {
    const cwd = temporaryFolder()
    const env = { PATH: [pathOfTheUser(), '/usr/bin', '/bin'].join(delimiter), HOME: join(cwd, 'home') }
    const run = { cwd, program, env }
    const ended = (...args: string[]) => startCli(args, run).ended
    const sandbox = startCli(['sandbox', '--port', '0', '--customers', '230,7', '--write-config', 'trial.yaml'], run)
    const [version, init] = await Promise.all([ended('--version'), ended('init', 'mine.yaml')])
    expect(version).toMatchObject({ code: 0, stdout: `${manifest.version}+c0ffeec0ffee\n`, stderr: '' })
    expect(init).toMatchObject({ code: 0 })
    expect(fs.readFileSync(join(cwd, 'mine.yaml'), 'utf8')).toContain('organizations:')

    await sandbox.lineOnStderr(/^Wrote trial\.yaml/)
    expect(await ended('sync', '--config', 'trial.yaml')).toMatchObject({ code: 0 })
    const worker = startCli(['worker', '--embedded', '--port', '0', '--config', 'trial.yaml'], run)
    expect(await ended('sync', '--config', 'trial.yaml')).toMatchObject({ code: 0 })
    await worker.lineOnStderr(/"worker started"/)
    worker.send('SIGTERM')
    const count = 'SELECT COUNT(*) AS number FROM active_customers'
    const counted = await ended('sql', '--csv', '--config', 'trial.yaml', count)
    expect(counted).toMatchObject({ code: 0, stdout: 'number\r\n237\r\n', stderr: '' })
    expect(await worker.ended).toMatchObject({ code: 143 })
    const queue = fs.readdirSync(join(cwd, 'data', 'queue'), { recursive: true, withFileTypes: true })
    const open = queue.filter((each) => each.isFile() && fs.statSync(join(each.parentPath, each.name)).mode & 0o077)
    expect(open).toEqual([])
    sandbox.send('SIGTERM')
    expect(await sandbox.ended).toMatchObject({ code: 143 })
    expect(rowsOf(join(cwd, 'data', 'customers.db'), RUNS)).toEqual([
      { organization: 'acme', proof: 'proven', inserted: 230, unchanged: 0 },
      { organization: 'globex', proof: 'proven', inserted: 7, unchanged: 0 },
      { organization: 'acme', proof: 'proven', inserted: 0, unchanged: 230 },
      { organization: 'globex', proof: 'proven', inserted: 0, unchanged: 7 },
    ])
    expect(fs.existsSync(join(installed, 'node_modules', '.cache'))).toBe(false)
  })

  test('it knows the commit that the environment of its build names, as in the image', () => {
    const env = { ...ours, CUSTOMER_MIRROR_COMMIT: 'a'.repeat(40) }
    spawnSync(execPath, ['src/build.mjs'], { cwd: checkout, env })
    expect(fs.readFileSync(join(checkout, 'dist/commit'), 'utf8')).toBe(`${'a'.repeat(40)}\n`)
  })

  test('another program imports it: the example of the page runs, and its types hold without those that only we have', async () => {
    const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [120] })))
    fs.mkdirSync(join(folder, 'node_modules', '@customer-mirror'), { recursive: true })
    fs.symlinkSync(installed, join(folder, 'node_modules', '@customer-mirror', 'cli'))
    fs.symlinkSync(join(checkout, 'node_modules/@types'), join(folder, 'node_modules/@types'))
    fs.writeFileSync(join(folder, 'example.mts'), LIBRARY_EXAMPLE)
    fs.writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT, files: ['example.mts'] }))

    const check = startCli(['--project', folder], { cwd: folder, program: join(checkout, 'node_modules/.bin/tsc') })
    const ran = await startCli(['example.mts'], { cwd: folder, program: execPath }).ended
    expect(ran).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^acme: complete, /) })
    expect(await check.ended).toMatchObject({ code: 0, stdout: '' })
  })
})

const STRICT = {
  ...{ strict: true, noUncheckedIndexedAccess: true, noEmit: true, skipLibCheck: false, module: 'nodenext' },
  ...{ target: 'es2024', types: ['node'], lib: ['es2024', 'esnext.disposable'] },
}

/** Those of the two commands: the worker has some of its own if it started when an hour did. */
const RUNS = `SELECT organization, proof, inserted, unchanged FROM runs WHERE trigger = 'sync'
  ORDER BY row_number() OVER (PARTITION BY organization ORDER BY id), organization`

/** The folders in which a user's shell looks for Node, without those that npm puts before them. */
function pathOfTheUser(): string {
  const folders = (ours['PATH'] ?? '').split(delimiter)
  return folders.filter((folder) => !/node_modules|node-gyp-bin/.test(folder)).join(delimiter)
}
