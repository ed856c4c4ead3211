import { readFileSync, statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { processEnvironment } from '../config/environment.ts'
import { withFileToRead } from '../copies/read-rows.ts'
import { type Answer, planPlace, type Published, type PublishedCopy, type TargetPlan } from '../copies/publish-plan.ts'
import { publishCopies, requireHidden } from '../copies/publish.ts'
import { copyError } from '../copies/copy-error.ts'
import { writeTextFile } from '../copies/written-file.ts'
import { describeError, isOurs } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { isoOf } from '../time/moments.ts'

/** At the end of each page of figures. */
const MADE = 'by Customer Mirror '

/** The process that publishes: takes plans as JSON on standard input, and prints what became of them as JSON. All are for one mirror. */
const plans: [TargetPlan, ...TargetPlan[]] = JSON.parse(await text(process.stdin))
process.stdout.write(JSON.stringify(await answer()))

async function answer(): Promise<Answer> {
  try {
    await requireHidden(plans[0], plans[0].mirror)
    return { published: await withFileToRead(plans[0].mirror, publishAll) }
  } catch (error) {
    if (isOurs(error)) return { error: describeError(error) }
    // The message of a defect may quote anything, so only its kind is passed on.
    const { name } = error instanceof Error ? error : new Error()
    return { error: { code: 'unexpected', message: `${name} ${codeOf(error) ?? ''}`.trimEnd() } }
  }
}

/** Publishes the mirror in a file to each target. One of several that fails keeps no other from being published. */
async function publishAll(mirror: string): Promise<Published> {
  const done: Published = { copies: [], leftOut: [], failed: [], warnings: [] }
  for (const plan of plans)
    try {
      const { copies, failed, warnings, ...others } = await publish({ ...plan, mirror })
      Object.assign(done, others)
      done.copies.push(...copies)
      done.failed.push(...failed)
      done.warnings.push(...warnings)
    } catch (error) {
      if (plans.length === 1 || !isOurs(error)) throw error
      done.failed.push({ file: planPlace(plan), ...describeError(error) })
    }
  return done
}

async function publish(plan: TargetPlan): Promise<Published> {
  if ('file' in plan) {
    const published = publishCopies(plan)
    for (const copy of plan.report ? published.copies : []) published.warnings.push(...(await writePage(copy)))
    return published
  }
  // Parquet and the client of object storage take a third of a start.
  const { publishBucket, publishFolder } = await import('../copies/objects/publish-objects.ts')
  return 'parquet' in plan ? publishFolder(plan) : publishBucket(plan, processEnvironment())
}

/** Writes the page of figures beside a copy, for those who may read the copy. Returns a warning where it cannot be written. */
async function writePage({ file, publishedAt }: PublishedCopy): Promise<string[]> {
  const page = `${file.replace(/\.[^./]*$/, '')}.html`
  try {
    const found = statSync(page, { throwIfNoEntry: false })
    // A pipe would be read for ever.
    const isMade = found === undefined || (found.isFile() && readFileSync(page, 'utf8').includes(MADE))
    if (!isMade) return [`${page}: is not of this program and was left as it is; the copy has no page of figures.`]
    const { readFigures } = await import('./figures.ts')
    const { reportPage } = await import('./page.ts')
    const drawn = await reportPage(await readFigures(file), Date.parse(isoOf(publishedAt)))
    const { mode, gid } = statSync(file)
    writeTextFile(page, drawn, { mode: mode & 0o777, gid })
    return []
  } catch (error) {
    const told = copyError(error, page)
    // The copy is there all the same; the message of a defect may quote anything.
    return [isOurs(told) ? told.message : `${page}: was not written, by a defect of Customer Mirror.`]
  }
}
