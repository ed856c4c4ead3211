import { Command } from '@commander-js/extra-typings'
import type { MirroredOrganization } from '../../reading/organizations/mirrored-organizations.ts'
import { isPostgres } from '../../address/mirror-address.ts'
import { isMissing } from '../../machine/is-missing.ts'
import { screenOf, type Io, type Screen } from '../io.ts'
import { fileToRead, mirrorOption } from '../reading/reading-options.ts'
import { isoTime } from '../../time/iso-time.ts'
import { jsonDocument } from '../output/json-document.ts'
import { refuseWords } from '../refuse-words.ts'

/** `customer-mirror organizations list`: the organizations of the configuration and of the mirror. */
export function organizationsListCommand(io: Io) {
  return new Command('list')
    .description('list the organizations of the configuration and of the mirror')
    .option('-c, --config <file>', 'configuration file')
    .addOption(mirrorOption())
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXAMPLES)
    .allowExcessArguments()
    .action(async (_own, command) => {
      refuseWords(command, COMMANDS)
      const { json, ...named } = command.optsWithGlobals()
      const lines = await linesOf(named)
      io.stdout.write(
        json
          ? jsonDocument({ organizations: lines.map(asJson) })
          : await asText(lines, { config: named.config, screen: screenOf(io.stdout) }),
      )
    })
}

const COMMANDS = ['list', 'rename', 'retire', 'forget'] as const

/** An organization, whether the configuration names it (undefined: there is none), and what the mirror holds of it. */
type Line = { organization: string; isConfigured: boolean | undefined; mirrored: MirroredOrganization | undefined }

async function linesOf(named: { config?: string; mirror?: string }): Promise<Line[]> {
  const [{ file, configured }, { listMirroredOrganizations }] = await Promise.all([
    fileToRead(named),
    import('../../reading/organizations/mirrored-organizations.ts'),
  ])
  const hasConfiguration = named.mirror === undefined
  // Organizations are there before the first sync makes the mirror.
  const mirrored = isPostgres(file)
    ? await mirroredIn(file, hasConfiguration)
    : hasConfiguration && isMissing(file)
      ? []
      : listMirroredOrganizations(file)
  const names = new Set([...configured, ...mirrored.map(({ organization }) => organization)])
  return [...names].map((organization) => ({
    organization,
    isConfigured: hasConfiguration ? configured.includes(organization) : undefined,
    mirrored: mirrored.find((one) => one.organization === organization),
  }))
}

async function mirroredIn(address: string, hasConfiguration: boolean): Promise<MirroredOrganization[]> {
  const { listOrganizationsOfServer } = await import('../../reading/organizations/organizations-of-server.ts')
  return listOrganizationsOfServer(address, { mayBeMissing: hasConfiguration })
}

function asJson({ organization, isConfigured, mirrored }: Line) {
  return {
    organization,
    configured: isConfigured ?? null,
    inMirror: mirrored !== undefined && !mirrored.isLeaving,
    retiredAt: isoTime(mirrored?.retiredAtMs),
    unfinishedForget: mirrored?.isLeaving ?? false,
    active: mirrored?.active ?? 0,
    removed: mirrored?.removed ?? 0,
    readAsOf: isoTime(mirrored?.readAsOfMs),
  }
}

async function asText(
  lines: readonly Line[],
  { config, screen }: { config: string | undefined; screen: Screen | undefined },
): Promise<string> {
  if (lines.length === 0) return 'There are no organizations.\n'
  const [{ renderTable }, { moment }, { leftBehindText }, { wrapLines }] = await Promise.all([
    import('../output/table.ts'),
    import('../output/wording.ts'),
    import('../output/left-behind.ts'),
    import('../output/fit-text.ts'),
  ])
  const table = renderTable(
    ['organization', 'state', 'active', 'removed', 'last read'],
    lines.map((line) => [
      line.organization,
      stateOf(line),
      line.mirrored?.active ?? 0,
      line.mirrored?.removed ?? 0,
      line.mirrored?.readAsOfMs === undefined ? 'never' : moment(line.mirrored.readAsOfMs),
    ]),
    screen,
  )
  const left = lines
    .filter(isLeftBehind)
    .map(({ organization, mirrored }) => leftBehindText({ organization, active: mirrored?.active ?? 0 }, config))
  return table + wrapLines(left.join(''), screen?.columns ?? Number.POSITIVE_INFINITY)
}

/** Whether it is no longer mirrored, and its customers are active all the same. */
function isLeftBehind({ isConfigured, mirrored }: Line): boolean {
  return isConfigured === false && mirrored !== undefined && mirrored.active > 0
}

function stateOf({ isConfigured, mirrored }: Line): string {
  if (mirrored === undefined) return 'configured, not mirrored yet'
  if (mirrored.isLeaving) return 'not wholly forgotten yet'
  const { retiredAtMs } = mirrored
  if (retiredAtMs !== undefined)
    return isConfigured
      ? 'retired until its next run'
      : `retired since ${new Date(retiredAtMs).toISOString().slice(0, 10)}`
  if (isConfigured === undefined) return 'in the mirror'
  return isConfigured ? 'configured' : 'not configured'
}

const EXAMPLES = `
Examples:
  $ customer-mirror organizations list
  $ customer-mirror organizations list --mirror ./copies/customers.db --json
`
