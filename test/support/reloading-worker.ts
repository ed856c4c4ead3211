import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { aJobsWorkplace } from './jobs-workplace.ts'
import { startWorker } from './worker-log.ts'
import { aSandbox, organizationsOf } from './workplace.ts'

/** A folder for a worker of that many organizations. */
export async function aPlaceOf(count: number) {
  const sandbox = await aSandbox({ customers: Array.from({ length: count }, () => 3) })
  const organizations = organizationsOf(sandbox)
  return { place: aJobsWorkplace(organizations), organizations }
}

const NEVER = 3_600_000

/** A worker that does not look at its file, and reads it again only for a job of an organization that it does not know. */
export async function aBlindWorker(place: ReturnType<typeof aJobsWorkplace>, before: readonly unknown[]) {
  // No change is reported where the file is behind a link.
  const link = join(place.folder, 'data', 'link.yaml')
  symlinkSync(place.config, link)
  const document: object = parse(readFileSync(place.config, 'utf8'))
  const write = (organizations: readonly unknown[]) =>
    writeFileSync(place.config, stringify({ ...document, mirror: place.mirror, organizations }))
  write(before)
  const worker = startWorker({ config: link }, { timings: { configLookMs: NEVER, catchUpMs: NEVER } })
  await worker.ran('acme')
  return { worker, write }
}
