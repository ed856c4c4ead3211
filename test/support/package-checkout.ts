import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { runToEnd } from '../../bench/run-program.ts'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const ALWAYS = ['LICENSE', 'README.md', 'package.json']

export const manifest: {
  name: string
  version: string
  bin: Record<string, string>
  scripts: Record<string, string>
  files: string[]
} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** A copy of this checkout, so that nothing is compiled or packed beside what other tests read. */
export function aCheckout(folder: string): string {
  mkdirSync(folder)
  for (const name of [...ALWAYS, 'tsconfig.json']) copyFileSync(join(ROOT, name), join(folder, name))
  for (const name of ['src', 'jobs', 'docs']) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

export function launcherFiles(): string[] {
  return filesIn('src/cli').filter((path) => path.endsWith('.mjs'))
}

/** The page to which commands send who has a mirror in PostgreSQL, with what it tells to run. */
export function packedDocuments(): string[] {
  return ['docs/operate/postgres.md', ...filesIn('docs/ops/postgres')]
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length))
}

/** Builds the checkout as `npm pack` does, but its two parts side by side, and packs it; the paths in the tarball, sorted. */
export async function pack(checkout: string): Promise<{ tarball: string; files: string[] }> {
  const types = ['node_modules/.bin/tsc', '--project', 'src/tsconfig.build.json']
  await Promise.all([['src/build.mjs'], types].map((part) => runToEnd([execPath, ...part], { cwd: checkout })))
  const said: { filename: string; files: { path: string }[] }[] = JSON.parse(
    npm(checkout, 'pack', '--json', '--ignore-scripts').replace(/^[^[]*(?=\[)/, ''),
  )
  const [packed] = said
  if (packed === undefined) throw new Error('npm has packed nothing')
  return { tarball: join(checkout, packed.filename), files: packed.files.map(({ path }) => path).toSorted() }
}

export function npm(cwd: string, ...args: string[]): string {
  const quiet = ['--loglevel=error', '--no-audit', '--no-fund', '--no-update-notifier', '--foreground-scripts=false']
  const { status, stdout, stderr } = spawnSync('npm', [...args, ...quiet], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}:\n${stderr}${stdout}`)
  return stdout
}
