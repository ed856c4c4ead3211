import { command, limitOption, requireKnown, show, withMirror } from './command.ts'
import { type Io, type Screen, screenOf } from './io.ts'
import { moment, say } from './output/say.ts'
import { renderTable } from './output/table.ts'
import type { StoredReject } from '../model/mirror.ts'
import { isoTime } from '../time/moments.ts'

/** `customer-mirror rejects`: received records that are no valid customers, and why. */
export function rejectsCommand(io: Io) {
  return command('rejects', 'list records that could not be kept as customers, and why', EXAMPLES)
    .argument('[organization]', 'id of one organization')
    .option('--json', 'print one JSON document, the records as received included')
    .addOption(limitOption(50))
    .action(async (organization, { config, json, limit }, self) => {
      const listed = await withMirror(config, async (mirror, known) => {
        await requireKnown(organization, mirror, known)
        // One more shows whether there are more.
        return mirror.listRejects({ organization, limit: limit + 1 })
      })
      const rejects = listed.slice(0, limit)
      const table = rejects.length === 0 ? 'No open rejects.\n' : asTable(rejects, screenOf(io.stdout))
      show(io, json, { document: { rejects: rejects.map(asJson) }, table })
      if (listed.length > limit && self.getOptionValueSource('limit') === 'default')
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
