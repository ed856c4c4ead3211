import { text } from 'node:stream/consumers'
import { describeError, isOurs } from '../../errors.ts'
import { publishCopies } from './publish.ts'
import { publishPlan } from './publish-plan.ts'

/** The process that publishes: takes a plan as JSON on standard input, and prints what became of it as JSON. */
const plan = publishPlan.parse(JSON.parse(await text(process.stdin)))
process.stdout.write(JSON.stringify(answer()))

function answer(): object {
  try {
    return { published: publishCopies(plan) }
  } catch (error) {
    // The message of a defect may quote anything, so only its kind is passed on.
    const unexpected =
      error instanceof Error ? `${error.name}${'code' in error ? ` ${String(error.code)}` : ''}` : 'Error'
    return { error: isOurs(error) ? describeError(error) : { code: 'unexpected', message: unexpected } }
  }
}
