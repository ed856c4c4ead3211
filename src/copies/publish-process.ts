import { text } from 'node:stream/consumers'
import { processEnvironment } from '../config/environment.ts'
import { withFileToRead } from './read-rows.ts'
import { type Answer, placeOf, type Published, type TargetPlan } from './publish-plan.ts'
import { publishCopies, requireHidden } from './publish.ts'
import { describeError, isOurs } from '../errors/errors.ts'

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
    const [name, code] =
      error instanceof Error ? [error.name, 'code' in error ? ` ${String(error.code)}` : ''] : ['Error', '']
    return { error: { code: 'unexpected', message: name + code } }
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
      done.failed.push({ file: placeOf(plan), ...describeError(error) })
    }
  return done
}

async function publish(plan: TargetPlan): Promise<Published> {
  if ('file' in plan) return publishCopies(plan)
  // Parquet and the client of object storage take a third of a start.
  const { publishBucket, publishFolder } = await import('./objects/publish-objects.ts')
  return 'parquet' in plan ? publishFolder(plan) : publishBucket(plan, processEnvironment())
}
