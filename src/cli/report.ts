import { show, type Table } from './output/print.ts'
import { command, type Io, JSON_OPTION, mirrorOption } from './command.ts'
import { fileToRead } from './opening.ts'
import { Option } from '@commander-js/extra-typings'
import { UsageError } from '../errors/errors.ts'
import { type Figures, readFigures } from '../report/figures.ts'
import { listedNames } from '../text/wording.ts'
import { isoOf } from '../time/moments.ts'
import { writeWhole } from './status.ts'

/** `customer-mirror report`: what there is to say of all customers together, and of none of them alone. */
export function reportCommand(io: Io) {
  return command('report', {
    about: 'No output holds personal data: of companies it has their numbers, and no names.',
    report: 'a line for each organization; new, changed and removed are those of its latest month',
    'report --html report.html': 'a page: growth, changes and removals a month, languages, companies',
    'report --mirror copies/customers.db --html -': 'the page of a published copy; this needs no configuration',
  })
    .addOption(mirrorOption())
    .option('--org <organization>', 'the figures of one organization')
    .option('--html <file>', 'write a page to look at, as one file that replaces the one before; - prints it')
    .addOption(new Option(...JSON_OPTION).conflicts('html'))
    .action(async ({ org, html, json, ...named }) => {
      const { file: mirror, configuration } = await fileToRead(named)
      const all = await readFigures(mirror)
      const figures = org === undefined ? all : all.filter(({ organization }) => organization === org)
      if (org !== undefined && figures.length === 0)
        throw new UsageError(
          `The mirror has no organization "${org}". It has ${listedNames(all.map(({ organization }) => organization)) || 'none yet'}.`,
        )
      if (html === undefined)
        return show(io, json, { document: { organizations: figures.map(asJson) }, table: tableOf(figures) })
      await writeWhole(html, { mode: 0o600, mirror, configuration }, io, async () => {
        const { reportPage } = await import('../report/page.ts')
        return reportPage(figures, Date.now())
      })
    })
}

function asJson({ readAsOf, companies, ...figures }: Figures) {
  return { ...figures, readAsOf: readAsOf === undefined ? null : isoOf(readAsOf), companies: companies ?? null }
}

const HEAD = ['organization', 'customers', '30 days before', 'new', 'changed', 'removed', 'languages', 'companies']

/** New, changed and removed are those of the latest month of each. */
function tableOf(figures: readonly Figures[]): Table {
  const rows = figures.map(({ organization, active, days, months, languages, companies }) => {
    const { added = 0, changed = 0, removed = 0 } = months.at(-1) ?? {}
    const before = days.at(-31)?.active
    const sizes = companies?.reduce((sum, { count }) => sum + count, 0)
    const counts = [active, before ?? '–', added, changed, removed]
    return [organization, ...counts, languageWords(languages, active), sizes ?? '–']
  })
  return { head: HEAD, rows }
}

function languageWords(languages: Figures['languages'], active: number): string {
  const most = languages.slice(0, 3)
  return most
    .map(({ name, count }) => `${name.slice(0, 12) || 'none'} ${Math.round((100 * count) / active)} %`)
    .join(', ')
}
