import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from './support/temp-folder.ts'
import { ROOT, manifest, ALWAYS, aCheckout, launcherFiles, pack, runToEnd } from './support/package-checkout.ts'

const LAUNCHER = 'src/cli/customer-mirror.mjs'

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
  // npm would read every package there before it leaves them out.
  unlinkSync(join(checkout, 'node_modules'))
  const { files } = pack(checkout, '--dry-run', '--ignore-scripts')

  expect(files).toEqual([...ALWAYS, 'dist/src/cli/main.js', ...launcherFiles()].toSorted())
  expect(files).toContain(manifest.bin['customer-mirror'])
  expect(manifest.name).toMatch(/^@[a-z-]+\//)
})

test('the npm configuration names no registry, no token and no proxy', () => {
  const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8').split('\n')

  expect(settings.filter((line) => line.trim() !== '' && !line.startsWith('#'))).toEqual(['loglevel=error'])
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

  const HOMES: [what: string, envOf: (place: string) => Record<string, string>, kept: string | undefined][] = [
    ['a cache folder that is named', (place) => ({ XDG_CACHE_HOME: join(place, 'cache') }), 'cache'],
    ['a cache folder that is relative', (place) => ({ XDG_CACHE_HOME: 'here', HOME: place }), '.cache'],
    ['a home that is relative', () => ({ HOME: 'here' }), undefined],
    ['a home without a name', () => ({ HOME: '' }), undefined],
    ['a home that is not there', () => ({ HOME: '/dev/null/none' }), undefined],
    ['a home that is no folder', () => ({ HOME: '/dev/null' }), undefined],
  ]

  test.each(HOMES)('keeps what was compiled where it can, and works, with %s', async (_, envOf, kept) => {
    const { program } = anInstalledLauncher()
    const place = temporaryFolder()
    const ended = await runToEnd(['status'], { cwd: place, program, env: envOf(place) })

    expect(ended).toMatchObject({ code: 0, stdout: 'compiled program: status\n', stderr: '' })
    expect(readdirSync(place)).toEqual(kept === undefined ? [] : [kept])
    if (kept !== undefined) expect(readdirSync(join(place, kept, 'customer-mirror'))).not.toEqual([])
  })
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
