import { Command } from '@commander-js/extra-typings'
import type { StoredReject } from '../model/mirror.ts'
import { screenOf, type Io, type Screen } from './io.ts'
import { isoTime } from '../time/moments.ts'
import { say, jsonDocument, print } from './output/say.ts'
import { limitOption } from './arguments.ts'
import { requireKnown, withMirror } from './with-mirror.ts'
import { renderTable } from './output/table.ts'
import { moment } from './output/wording.ts'

/** `customer-mirror rejects`: received records that are no valid customers, and why. */
export function rejectsCommand(io: Io) {
  return new Command('rejects')
    .description('list records that could not be kept as customers, and why')
    .argument('[organization]', 'id of one organization')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document, the records as received included')
    .addOption(limitOption(50))
    .addHelpText('after', EXAMPLES)
    .action(async (organization, { config, json, limit }, command) => {
      const listed = await withMirror(config, async (mirror, known) => {
        await requireKnown(organization, mirror, known)
        // One more shows whether there are more.
        return mirror.listRejects({ organization, limit: limit + 1 })
      })
      const rejects = listed.slice(0, limit)
      if (json) io.stdout.write(jsonDocument({ rejects: rejects.map(asJson) }))
      else print(io.stdout, rejects.length === 0 ? 'No open rejects.\n' : asTable(rejects, screenOf(io.stdout)))
      if (listed.length > limit && command.getOptionValueSource('limit') === 'default')
        say(io.stderr, `These are the newest ${limit}. For more of them use --limit.\n`)
    })
}

function asJson({ runId, recordId, seenAtMs, payload, ...reject }: StoredReject) {
  return { ...reject, run: runId, recordId, seenAt: isoTime(seenAtMs), payload: JSON.parse(payload) }
}

function asTable(rejects: readonly StoredReject[], screen: Screen | undefined): string {
  return renderTable(
    ['organization', 'record', 'run', 'page', 'position', 'seen', 'reasons'],
    rejects.map(({ organization, recordId, runId, page, position, seenAtMs, reasons }) => [
      organization,
      recordId ?? '(no readable id)',
      `#${runId}`,
      page,
      position,
      moment(seenAtMs),
      reasons.map(({ field, message }) => (field === '' ? message : `${field} ${message}`)).join('; '),
    ]),
    screen,
  )
}

const EXAMPLES = `
Examples:
  $ customer-mirror rejects
      the newest records that keep being rejected
  $ customer-mirror rejects acme --json
      those of acme with the records as they were received, as JSON
`
