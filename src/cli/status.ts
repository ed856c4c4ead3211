import { Command } from '@commander-js/extra-typings'
import type { Organization } from '../config/organization.ts'
import type { Freshness } from '../mirror/freshness.ts'
import { durationArgument } from './duration-argument.ts'
import type { Io } from './io.ts'
import { isoTime, jsonDocument, withMirror } from './reading.ts'

/** `customer-mirror status`: how current every organization's rows are. */
export function statusCommand(io: Io) {
  return new Command('status')
    .description('tell how current the mirror is, per organization')
    .option('-c, --config <file>', 'configuration file')
    .option('--json', 'print one JSON document')
    .option('--max-age <time>', 'end with 3 when any organization is older than this: 90m, 26h, 2d', AGE)
    .addHelpText('after', EXAMPLES)
    .action(async ({ config, json, maxAge }) => {
      const lines = await withMirror(config, async (mirror, { organizations }) =>
        statusLines(organizations, await mirror.listFreshness(), Date.now(), maxAge),
      )
      io.stdout.write(json ? jsonDocument({ organizations: lines.map(asJson) }) : await asTable(lines))
      if (lines.some(({ tooOld }) => tooOld)) io.exitWith(3)
    })
}

type StatusLine = { organization: string; freshness: Freshness | undefined; ageMs: number | undefined; tooOld: boolean }

/** Every configured organization, those never mirrored included: nothing is older than what was never read. */
function statusLines(
  organizations: readonly Organization[],
  known: readonly Freshness[],
  nowMs: number,
  maxAgeMs = Number.POSITIVE_INFINITY,
): StatusLine[] {
  return organizations.map(({ id }) => {
    const freshness = known.find(({ organization }) => organization === id)
    const ageMs = freshness?.dataAsOfMs === undefined ? undefined : nowMs - freshness.dataAsOfMs
    const tooOld = maxAgeMs !== Number.POSITIVE_INFINITY && (ageMs === undefined || ageMs > maxAgeMs)
    return { organization: id, freshness, ageMs, tooOld }
  })
}

function asJson({ organization, freshness, ageMs, tooOld }: StatusLine) {
  return {
    organization,
    dataAsOf: isoTime(freshness?.dataAsOfMs),
    ageSeconds: ageMs === undefined ? null : Math.round(ageMs / 1000),
    proof: freshness?.proof ?? null,
    lastRun: freshness?.lastRunId ?? null,
    lastStatus: freshness?.lastStatus ?? null,
    active: freshness?.active ?? 0,
    missing: freshness?.missing ?? 0,
    removed: freshness?.removed ?? 0,
    openRejects: freshness?.openRejects ?? 0,
    tooOld,
  }
}

async function asTable(lines: readonly StatusLine[]): Promise<string> {
  const [{ renderTable }, { duration, moment }] = await Promise.all([import('./table.ts'), import('./wording.ts')])
  return renderTable(
    ['organization', 'data as of', 'age', 'proof', 'last run', 'active', 'missing', 'removed', 'open rejects'],
    lines.map(({ organization, freshness, ageMs, tooOld }) => [
      organization,
      freshness?.dataAsOfMs === undefined ? 'never' : moment(freshness.dataAsOfMs),
      `${ageMs === undefined ? '–' : duration(ageMs)}${tooOld ? ' (too old)' : ''}`,
      freshness?.proof ?? '–',
      freshness === undefined ? '–' : `#${freshness.lastRunId} ${freshness.lastStatus}`,
      freshness?.active ?? 0,
      freshness?.missing ?? 0,
      freshness?.removed ?? 0,
      freshness?.openRejects ?? 0,
    ]),
  )
}

const AGE = durationArgument({ most: '36500d', examples: '90m, 26h or 2d' })

const EXAMPLES = `
Examples:
  $ customer-mirror status
      a table of how current each organization is
  $ customer-mirror status --max-age 26h --json
      for a monitor: ends with 3 when a nightly mirror missed its night
`
