import { spawnSync } from 'node:child_process'
import { hash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { NEW, oneStatement, postgresPrograms, startPostgres } from '../../../bench/postgres-server.ts'

/** A PostgreSQL for tests, fast in place of durable, which understands what statements for SQLite call by other names. */
export async function startTestServer() {
  const server = await startPostgres({ isDurable: false })
  await oneStatement(server.url, sqliteForms())
  return {
    ...server,
    /** Makes another database, and returns its address. */
    another: async (name: string): Promise<string> => {
      await oneStatement(server.url, `CREATE DATABASE ${name}`)
      const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
      await oneStatement(url, sqliteForms())
      return url
    },
  }
}

function sqliteForms(): string {
  return readFileSync(new URL('sqlite-forms.sql', import.meta.url), 'utf8')
}

const KEPT = new URL('../../../node_modules/.cache/customer-mirror-tests/', import.meta.url)

/** A PostgreSQL of its own, fast in place of durable. Its files take half a second to make, so they are kept by version and options. */
export function startQuickPostgres() {
  const { stdout } = spawnSync(join(postgresPrograms() ?? '', 'postgres'), ['--version'], { encoding: 'utf8' })
  const [version = 'unknown'] = /\d+[\w.]*/.exec(stdout) ?? []
  const how = hash('sha256', NEW.join(' ')).slice(0, 8)
  return startPostgres({ isDurable: false, newFiles: fileURLToPath(new URL(`postgres-${version}-${how}.tar`, KEPT)) })
}

/** The path of what takes long to make, which is kept for the next run of the tests, by the versions of the packages that make it. */
export function pathOfKept(name: string, packages: readonly string[]): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  return fileURLToPath(new URL([name, ...packages.map((each) => dependencies[each])].join('-'), KEPT))
}

/** The same, made where it is not there. */
export async function keptOf(name: string, packages: readonly string[], make: (path: string) => Promise<void>) {
  const kept = pathOfKept(name, packages)
  if (existsSync(kept)) return kept
  mkdirSync(dirname(kept), { recursive: true })
  const made = `${kept}-${randomUUID()}`
  await make(made)
  try {
    renameSync(made, kept)
  } catch {
    // Another run of the tests was first.
    rmSync(made, { recursive: true })
  }
  return kept
}

export const PGLITE = '@electric-sql/pglite'

/** A PGlite as it was just made, in memory or in a folder. To make one takes four seconds of a processor, so its bytes are kept. */
export async function openKeptPglite(folder?: string): Promise<PGlite> {
  const kept = await keptOf('pglite', [PGLITE], keepPglite)
  const place = folder === undefined ? {} : { dataDir: folder }
  // To clear the usual 128 MB for pages in memory takes a third of a start.
  const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=8MB']
  return PGlite.create({ ...place, startParams, loadDataDir: new Blob([readFileSync(kept)]) })
}

async function keepPglite(path: string): Promise<void> {
  // As in vitest.config.ts: to optimize what runs once takes a second.
  setFlagsFromString('--liftoff-only')
  const made = await PGlite.create()
  writeFileSync(path, Buffer.from(await (await made.dumpDataDir('none')).arrayBuffer()))
  await made.close()
}
