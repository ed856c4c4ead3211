import { text } from 'node:stream/consumers'
import { processEnvironment } from '../config/environment.ts'
import { describeError, isOurs } from '../errors/errors.ts'
import { withFileToRead } from './open-to-read.ts'
import { publishBucket, publishFolder } from './objects/publish-objects.ts'
import { publishCopies, requireHidden } from './publish.ts'
import { placeOf, type Published, publishPlans, type TargetPlan } from './publish-plan.ts'

/** The process that publishes: takes plans as JSON on standard input, and prints what became of them as JSON. */
const plans = publishPlans.parse(JSON.parse(await text(process.stdin)))
process.stdout.write(JSON.stringify(await answer()))

async function answer(): Promise<object> {
  try {
    const [first] = plans
    const { mirror } = first
    await requireHidden(first, mirror)
    const make = (file: string) => publishAll(plans.map((plan) => ({ ...plan, mirror: file })))
    return { published: await withFileToRead(mirror, make) }
  } catch (error) {
    // The message of a defect may quote anything, so only its kind is passed on.
    const unexpected =
      error instanceof Error ? `${error.name}${'code' in error ? ` ${String(error.code)}` : ''}` : 'Error'
    return { error: isOurs(error) ? describeError(error) : { code: 'unexpected', message: unexpected } }
  }
}

/** Publishes to each target. One of several that fails keeps no other from being published. */
async function publishAll(targets: readonly TargetPlan[]): Promise<Published> {
  const done: Published = { copies: [], leftOut: [], failed: [], warnings: [] }
  for (const target of targets) {
    try {
      const { leftOut, failed, warnings, ...made } = await publish(target)
      Object.assign(done, made, { copies: [...done.copies, ...made.copies] })
      const known = new Set(done.leftOut.map(({ organization }) => organization))
      done.leftOut.push(...leftOut.filter(({ organization }) => !known.has(organization)))
      done.failed.push(...failed)
      done.warnings.push(...warnings)
    } catch (error) {
      if (targets.length === 1 || !isOurs(error)) throw error
      done.failed.push({ file: placeOf(target), ...describeError(error) })
    }
  }
  return done
}

async function publish(plan: TargetPlan): Promise<Published> {
  if ('file' in plan) return publishCopies(plan)
  if ('parquet' in plan) return publishFolder(plan)
  return publishBucket(plan, processEnvironment())
}
