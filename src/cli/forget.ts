import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { say, jsonDocument } from './output/say.ts'
import type { Config } from '../config/read-config.ts'
import { isOurs } from '../errors/errors.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { Mirror } from '../model/mirror.ts'
import { type ForgetReport, unfinishedText, forgottenCustomerText } from './output/forgotten.ts'
import type { Io } from './io.ts'
import { isoTime } from '../time/moments.ts'
import { namedConfig } from './arguments.ts'
import { requireKnown, withMirrorToChange } from './with-mirror.ts'
import { shownMirror } from '../address/mirror-address.ts'
import { configOption } from './output/wording.ts'

/** `customer-mirror forget`: deletes everything that the mirror holds of one customer, and keeps it out from then on. */
export function forgetCommand(io: Io) {
  return new Command('forget')
    .description('delete everything of one customer, and keep that customer out')
    .argument('<organization>', 'id of the organization')
    .argument('<uuid>', 'id of the customer', readUuid)
    .option('-c, --config <file>', 'configuration file')
    .option('--undo', 'let a forgotten customer come back with the next run; what was deleted stays deleted')
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .action(async (organization, id, { config: file, undo = false, json = false }) => {
      const config = await namedConfig(file)
      const customer = { organization, id }
      if (undo) return readmit(customer, { config, json, io })
      const report = await forget(customer, config)
      if (json) io.stdout.write(jsonDocument(asJson(report)))
      else say(io.stdout, forgottenCustomerText(report))
      if (report.failure !== undefined) throw report.failure
      if (report.erased !== 'busy') return
      const again = `customer-mirror forget ${organization} ${id}${configOption(file)}`
      say(io.stderr, unfinishedText(report.mirror, again))
      io.exitWith(5)
    })
}

type Customer = { organization: string; id: string }

/** Deletes the rows, then the bytes they leave. */
async function forget(customer: Customer, config: Config): Promise<ForgetReport> {
  const { listCopiesLeft } = await import('../copies/copies-left.ts')
  // What cannot be listed ends the command before anything is deleted.
  const copiesLeft = listCopiesLeft(config, customer.organization)
  const done = await withWriting(customer, config, async (mirror, forgetting) => {
    const forgotten = await mirror.forgetCustomer(forgetting)
    const erasing = mirror.eraseForgotten(customer.id)
    return { ...forgotten, ...(await erasing.then((erased) => ({ erased, failure: undefined }), asFailed)) }
  })
  return { ...customer, ...done, mirror: shownMirror(config.mirror), ...copiesLeft() }
}

/** The rows are deleted all the same, so that is reported first. */
function asFailed(failure: unknown) {
  if (isOurs(failure)) return { erased: 'failed', failure } as const
  throw failure
}

async function readmit(
  customer: Customer,
  { config, json, io }: { config: Config; json: boolean; io: Io },
): Promise<void> {
  await withWriting(customer, config, (mirror, forgetting) => mirror.readmitCustomer(forgetting))
  const said =
    `${customer.organization}: the customer is no longer forgotten. The next run that receives the record saves it as a new customer; ` +
    'what was deleted does not come back.\n'
  if (json) io.stdout.write(jsonDocument({ ...customer, forgottenAt: null }))
  else say(io.stdout, said)
}

async function withWriting<Result>(
  customer: Customer,
  config: Config,
  work: (mirror: Mirror, forgetting: Parameters<Mirror['forgetCustomer']>[0]) => Promise<Result>,
): Promise<Result> {
  return withMirrorToChange(config, async (mirror) => {
    await requireKnown(customer.organization, mirror, config)
    return await work(mirror, { ...customer, nowMs: Date.now(), monotonicMs: monotonicMs() })
  })
}

function asJson({ organization, id, deleted, forgottenAtMs, wasForgotten, erased, copies, replaced }: ForgetReport) {
  return { organization, id, forgottenAt: isoTime(forgottenAtMs), wasForgotten, deleted, erased, copies, replaced }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function readUuid(text: string): string {
  if (UUID.test(text.trim())) return text.trim().toLowerCase()
  throw new InvalidArgumentError(
    'It must be the id of a customer: a UUID, such as 00000000-0000-4000-8000-000000000001.',
  )
}

const EXAMPLES = `
Nothing of the customer stays but a keyed hash of the id: when the service lists the customer again, runs count the record as
suppressed and keep nothing of it. It cannot be undone; --undo only lets the customer in again as a new one. What this program
cannot reach (backups, copies, exports) is listed at the end.

Examples:
  $ customer-mirror forget acme 00000000-0000-4000-8000-000000000001
  $ customer-mirror forget acme 00000000-0000-4000-8000-000000000001 --json
`
