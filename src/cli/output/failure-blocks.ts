import type { Organization } from '../../config/organization.ts'
import type { Outcome } from '../../mirror-organization.ts'
import type { Report } from '../../report.ts'
import { explainFailure } from './explain-failure.ts'
import { wrapText } from './fit-text.ts'
import { count, differentCustomers, moment } from './wording.ts'

/** What blocks need to know beside the outcomes. */
export type BlockSettings = {
  organizations: readonly Pick<Organization, 'id' | 'scan' | 'resumeWithinMs'>[]
  /** Columns of the terminal; without one, lines are as long as they are. */
  columns: number | undefined
  dryRun: boolean
  /** The configuration file as the user named it, for the commands that are shown. */
  config: string | undefined
}

/**
 * One block for each organization that was not mirrored to its end: its name, the cause, what to do about it, and the command
 * that shows its run. Empty when all were; otherwise it begins with an empty line.
 */
export function failureBlocks(outcomes: readonly Outcome[], settings: BlockSettings): string {
  return outcomes
    .filter(({ error }) => error !== undefined)
    .map((outcome) => `\n${blockOf(outcome, settings).join('\n')}\n`)
    .join('')
}

function blockOf({ report, error }: Outcome, settings: BlockSettings): string[] {
  const { organization } = report
  const isStopped = report.status === 'interrupted'
  const { title, fix } = isStopped ? STOPPED : explainFailure(error)
  const body = isStopped
    ? [whatIsLeft(report, settings)]
    : [...causeOf(report), `fix: ${fix.replaceAll('<organization>', organization)}`]
  return [
    ...indented(`${isStopped ? '■' : '✖'} ${organization}: ${title}`, settings, ''),
    ...body.flatMap((text) => indented(text, settings, '  ')),
    ...showCommand(report, settings),
  ]
}

const STOPPED = { title: 'stopped', fix: '' }

/** The message without the name it begins with, which stands above it. A configuration may have several mistakes. */
function causeOf({ organization, error }: Report): string[] {
  const message = error?.message ?? ''
  const text = message.startsWith(`${organization}: `) ? message.slice(organization.length + 2) : message
  return text.split('\n')
}

/** What a stop leaves, and what the next run makes of it. */
function whatIsLeft(report: Report, { organizations, dryRun }: BlockSettings): string {
  const read = report.readBefore + differentCustomers(report)
  // It never became a run of the mirror, or how far that came is not known here.
  if (report.runId === undefined) return causeOf(report).join(' ')
  if (dryRun) return 'It was a dry run: nothing was saved.'
  if (read === 0) return 'Nothing had been read yet; the next sync starts at the first page.'
  const saved = `What was read, ${count(read, 'customer')}, is saved; the next sync`
  const settings = organizations.find(({ id }) => id === report.organization)
  if (settings?.scan === 'plain') return `${saved} reads the list from its start, as every plain scan does.`
  if (settings === undefined || report.dataAsOfMs === undefined) return `${saved} goes on from here.`
  return `${saved} goes on from here, when it starts before ${moment(report.dataAsOfMs + settings.resumeWithinMs)}.`
}

/** On a line of its own, whole, so that it can be copied; a dry run, or one that never began, is in no mirror. */
function showCommand({ runId }: Report, { dryRun, config }: BlockSettings): string[] {
  if (runId === undefined || dryRun) return []
  const option = config === undefined ? '' : ` --config ${/^[\w/.@:+-]+$/.test(config) ? config : `'${config}'`}`
  return [`  customer-mirror runs show ${runId}${option}`]
}

function indented(text: string, { columns = Number.POSITIVE_INFINITY }: BlockSettings, indent: string): string[] {
  return wrapText(text, Math.max(20, columns - indent.length)).map((line) => indent + line)
}
