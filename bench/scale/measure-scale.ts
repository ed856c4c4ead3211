import Database from 'better-sqlite3'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { MANY_AT_ONCE } from '../groups.ts'
import { describeMachine } from '../machine.ts'
import { organizationIds, type Task } from '../messages.ts'
import { runProgram } from '../run-program.ts'
import { startService, type Service } from '../service/service.ts'
import type { Figures, Storage } from './figures.ts'
import { measuredServer } from './server-work.ts'

/** Measured with so many organizations of this size at once, to see what each of them takes of the memory. */
const AT_ONCE = 4

/** Requests a minute: far more than services allow, and few enough for each page to be saved alone, as it is at their limits. */
const PACE = 3000

export type ScalePlan = {
  customers: number
  folder: string
  /** The address of an empty database of a server on this machine. */
  postgres: string
  say: (text: string) => void
}

/** Measures one organization in a SQLite file and in PostgreSQL, and several in a file at the same time. */
export async function measureScale({ customers, folder, postgres, say }: ScalePlan): Promise<Figures> {
  const dataset = { organizations: AT_ONCE, customers }
  const server = await measuredServer(postgres)
  const service = await startService(dataset)
  const task = (file: string, organizations: readonly string[], more: Partial<Task> = {}): Task => ({
    ...{ origin: service.origin, organizations: [...organizations], file: join(folder, file), scan: 'chain' },
    ...{ concurrency: MANY_AT_ONCE, sideBySide: AT_ONCE, ...more },
  })
  const [one = ''] = organizationIds(dataset)
  const program = (which: Task) => runProgram('mirror', which, {})
  try {
    say('SQLite, one organization')
    const paced = { requestsPerMinute: PACE }
    const alone = task('one.db', [one], paced)
    const sqlite = await nightsOf(service, () => program(alone))
    say('SQLite, several organizations at once')
    const all = task('all.db', organizationIds(dataset))
    const { rest } = await nightsOf(service, () => program(all))
    say('PostgreSQL, one organization')
    const elsewhere = task('none.db', [one], { ...paced, mirror: server.address })
    const nights = await nightsOf(service, () => server.measure(() => program(elsewhere)))
    return {
      machine: { ...describeMachine(folder), load: busyness() },
      customers,
      pageBytes: await pageBytes(service, one),
      sqlite: { nights: sqlite, storage: storageOf(alone.file) },
      atOnce: { organizations: AT_ONCE, rest },
      postgres: { version: server.version, nights, storage: await server.storage() },
    }
  } finally {
    await server.close()
    await service.close()
  }
}

/** Other programs make the CPU time of this one longer. */
function busyness(): string {
  const [, average = 0] = loadavg()
  return `${average.toFixed(0)} on average over the last five minutes, which are the threads of all programs that wanted a processor`
}

/** An initial sync, the second night, which is not kept, a night at rest, and one with 1 % changed. */
async function nightsOf<Night>(service: Service, run: () => Promise<Night>) {
  const answer = (edition: 'base' | 'changed') => service.answer({ latencyMs: 0, gzip: false, edition })
  await answer('base')
  const load = await run()
  await run()
  const rest = await run()
  await answer('changed')
  return { load, rest, changed: await run() }
}

async function pageBytes(service: Service, organization: string): Promise<number> {
  await service.answer({ latencyMs: 0, gzip: false, edition: 'base' })
  const page = await fetch(`${service.origin}/${organization}/api/v1/customers?page=2&per_page=100`)
  return (await page.arrayBuffer()).byteLength
}

function storageOf(file: string): Storage {
  const db = new Database(file, { readonly: true })
  const sizes = db.prepare<[], { name: string; bytes: number }>(
    `SELECT tbl_name AS name, sum(pgsize) AS bytes FROM dbstat JOIN sqlite_schema USING (name) GROUP BY tbl_name`,
  )
  const found = Object.fromEntries(sizes.all().map(({ name, bytes }) => [name, bytes]))
  db.close()
  return found
}
