import { text } from 'node:stream/consumers'
import { describeError, isOurs } from '../../errors/errors.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { withFileToRead } from '../file-to-read.ts'
import { publishCopies } from './publish.ts'
import { requireHidden } from './require-hidden.ts'
import { anyPlan, type AnyPlan, type Published } from './publish-plan.ts'

/** The process that publishes: takes a plan as JSON on standard input, and prints what became of it as JSON. */
const plan = anyPlan.parse(JSON.parse(await text(process.stdin)))
process.stdout.write(JSON.stringify(await answer()))

async function answer(): Promise<object> {
  try {
    const { mirror } = plan
    // A private copy of a mirror in PostgreSQL has what readers see alone.
    if (isPostgres(mirror)) await requireHidden(plan, mirror)
    const make = async (file: string) => {
      if (!isPostgres(mirror)) await requireHidden(plan, file)
      return publish({ ...plan, mirror: file })
    }
    return { published: await withFileToRead(mirror, make) }
  } catch (error) {
    // The message of a defect may quote anything, so only its kind is passed on.
    const unexpected =
      error instanceof Error ? `${error.name}${'code' in error ? ` ${String(error.code)}` : ''}` : 'Error'
    return { error: isOurs(error) ? describeError(error) : { code: 'unexpected', message: unexpected } }
  }
}

/** The client of object storage is loaded only where it is needed. */
async function publish(what: AnyPlan): Promise<Published> {
  if ('file' in what) return publishCopies(what)
  const { publishBucket } = await import('./bucket/open-bucket.ts')
  return publishBucket(what)
}
