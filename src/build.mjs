// Makes dist/, the program as it is installed, and as a checkout starts it that was not changed since. Plain JavaScript, since any Node that
// npm runs on builds it. `npm ci` in a checkout runs it too; where its tools are left out, as `--omit=dev` does, it makes nothing.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** The command line, the library, and what is run in a process apart. Each is a file of dist/, and shares the others with its kin. */
const PROGRAMS = ['src/cli/main', 'src/library', 'src/cli/statement-process', 'src/report/publish-process']

/** Packages that every command loads: two hundred small files, of which to find and to open each took a third of a start. */
const BUILT_IN = ['@commander-js/extra-typings', 'commander', 'croner', 'leven', 'p-limit', 'undici', 'yaml', 'zod']

const startedAt = new Date()
const rolldown = await import('rolldown').catch(() => undefined)
if (rolldown === undefined) process.exit()

for (const name of ['commit', 'parts']) rmSync(`${ROOT}dist/${name}`, { recursive: true, force: true })
const { dependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
const apart = Object.keys(dependencies).filter((name) => !BUILT_IN.includes(name))
await rolldown.build({
  cwd: ROOT,
  input: Object.fromEntries(PROGRAMS.map((name) => [name, `./${name}.ts`])),
  external: (id) => apart.some((name) => id === name || id.startsWith(`${name}/`)),
  platform: 'node',
  output: { dir: 'dist', entryFileNames: '[name].js', chunkFileNames: 'parts/[name]-[hash].js' },
})
// Written last: a checkout compares its files with the time that this one bears.
writeFileSync(`${ROOT}dist/commit`, `${commit()}\n`)
utimesSync(`${ROOT}dist/commit`, startedAt, startedAt)

/** The commit that the environment names, as where an image is built, or that of the checkout; empty where there is none. */
function commit() {
  const named = process.env.CUSTOMER_MIRROR_COMMIT
  return named || spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() || ''
}
