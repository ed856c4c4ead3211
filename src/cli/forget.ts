import { InvalidArgumentError } from '@commander-js/extra-typings'
import { shownMirror } from '../address/mirror-address.ts'
import { clocks, command, JSON_OPTION, requireKnown, show, withMirrorToChange } from './command.ts'
import type { Io } from './io.ts'
import { beyondText, erasedText, unfinishedText } from './output/forgotten.ts'
import { configOption, count, moment, say } from './output/say.ts'
import { isOurs } from '../errors/errors.ts'
import type { Erased, ForgottenCustomer } from '../model/mirror.ts'
import { isoTime } from '../time/moments.ts'

/** `customer-mirror forget`: deletes everything that the mirror holds of one customer, and keeps it out from then on. */
export function forgetCommand(io: Io) {
  return command('forget', 'delete everything of one customer, and keep that customer out', EXAMPLES)
    .argument('<organization>', 'id of the organization')
    .argument('<uuid>', 'id of the customer', readUuid)
    .option('--undo', 'let a forgotten customer come back with the next run; what was deleted stays deleted')
    .option(...JSON_OPTION)
    .action(async (organization, id, { config: file, undo = false, json }) => {
      const customer = { organization, id }
      if (undo) {
        await withMirrorToChange(file, async (mirror, config) => {
          await requireKnown(organization, mirror, config)
          await mirror.readmitCustomer({ ...customer, ...clocks() })
        })
        show(io, json, { document: { ...customer, forgottenAt: null }, text: `${organization}: ${READMITTED}\n` })
        return
      }
      const { mirror, failure, ...done } = await forget(customer, file)
      const { forgottenAtMs, deleted, wasForgotten, erased, copies, replaced } = done
      const facts = { wasForgotten, deleted, erased, copies, replaced }
      show(io, json, {
        document: { ...customer, forgottenAt: isoTime(forgottenAtMs), ...facts },
        text: doneText(organization, mirror, done) + beyondText({ ...customer, copies, replaced }),
      })
      if (failure !== undefined) throw failure
      if (erased !== 'busy') return
      say(io.stderr, unfinishedText(mirror, `customer-mirror forget ${organization} ${id}${configOption(file)}`))
      io.exitWith(5)
    })
}

/** Deletes the rows, then the bytes they leave. */
async function forget(customer: { organization: string; id: string }, file: string | undefined) {
  const { listCopiesLeft } = await import('../copies/copies-left.ts')
  return withMirrorToChange(file, async (mirror, config) => {
    await requireKnown(customer.organization, mirror, config)
    // What cannot be listed ends the command before anything is deleted.
    const copiesLeft = listCopiesLeft(config, customer.organization)
    const forgotten = await mirror.forgetCustomer({ ...customer, ...clocks() })
    const erasing = mirror.eraseForgotten(customer.id)
    const erased = await erasing.then((how) => ({ erased: how, failure: undefined }), asFailed)
    return { ...forgotten, ...erased, mirror: shownMirror(config.mirror), ...copiesLeft() }
  })
}

/** The rows are deleted all the same, so that is reported first. */
function asFailed(failure: unknown) {
  if (isOurs(failure)) return { erased: 'failed', failure } as const
  throw failure
}

const READMITTED =
  'the customer is no longer forgotten. The next run that receives the record saves it as a new customer; what was deleted does not come back.'

function doneText(
  organization: string,
  mirror: string,
  { deleted, forgottenAtMs, wasForgotten, erased }: ForgottenCustomer & { erased: Erased | 'failed' },
): string {
  const { customers, changes, rejects } = deleted
  const rows = `${count(customers, 'customer')}, ${count(changes, 'change')}, ${count(rejects, 'reject')}`
  const already = wasForgotten ? ` already, since ${moment(forgottenAtMs)}` : ''
  const found = !wasForgotten || customers + changes + rejects > 0 ? ` Deleted: ${rows}.` : ''
  const bytes =
    erased === 'erased' || erased === 'released'
      ? erasedText(mirror, 'this customer')
      : erased === 'held'
        ? `Rows of other customers in ${mirror} hold the id of this customer in fields of their own. Those rows stay.\n`
        : ''
  return `${organization}: the customer is forgotten${already}.${found}\n${bytes}${wasForgotten ? '' : FROM_NOW}`
}

const FROM_NOW =
  'When the service lists the customer again, runs count the record as suppressed and keep nothing of it. The next run reads every ' +
  'record of the organization.\n'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function readUuid(text: string): string {
  if (UUID.test(text.trim())) return text.trim().toLowerCase()
  throw new InvalidArgumentError(
    'It must be the id of a customer: a UUID, such as 00000000-0000-4000-8000-000000000001.',
  )
}

const EXAMPLES = `
Nothing of the customer stays but a keyed hash of the id: when the service lists the customer again, runs count the record as suppressed and keep nothing of it. It cannot be undone; --undo only lets the customer in again as a new one. What this program cannot reach (backups, copies, exports) is listed at the end.

Examples:
  $ customer-mirror forget acme 00000000-0000-4000-8000-000000000001
  $ customer-mirror forget acme 00000000-0000-4000-8000-000000000001 --json
`
