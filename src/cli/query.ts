import { say } from './output/print.ts'
import { type Io, jsonCommand, mirrorOption, wholeNumber } from './command.ts'
import { fileToRead } from './opening.ts'
import { readCustomers } from '../copies/read-rows.ts'
import { writeToStream } from '../copies/write-results.ts'
import { publicColumns } from '../model/public-tables.ts'
import { layoutOf, textOf } from './output/rows.ts'

/** What a table has at most, and the columns it shows; a document has all of them. */
const ON_A_TABLE = 50
const SHOWN = ['organization', 'id', 'name', 'username', 'email', 'language']

/** `customer-mirror query`: the customers in the mirror. */
export function queryCommand(io: Io) {
  return jsonCommand('query', {
    about:
      "A table shows a few columns, with control characters written out; the document has all of them. 'customer-mirror export' writes files for other programs.",
    'query --search zoe': 'active customers with "zoe", Zoë too, in their name, username or e-mail address',
    'query --org acme --language fr --json': 'every column of the active customers of acme who speak French',
    'query --include-removed --mirror copies/customers.db': 'customers in a published copy',
  })
    .addOption(mirrorOption())
    .option('--org <organization>', 'customers of one organization')
    .option('--search <text>', 'customers with this in their name, username or e-mail address, in any case')
    .option('--language <language>', 'customers of one language, as sent by the service')
    .option('--include-removed', 'removed customers too')
    .option('--limit <number>', `how many at most (default: ${ON_A_TABLE} in a table)`, wholeNumber({ least: 1 }))
    .action(async ({ org: organization, search, language, includeRemoved = false, limit, ...named }) => {
      const words = { nothing: '–', none: 'No customers found.\n' }
      const layout = layoutOf(named, { document: { customers: [] }, ...words, stdout: io.stdout })
      const isTable = layout.format === 'table'
      const most = limit ?? (isTable ? ON_A_TABLE : undefined)
      const shown = [...SHOWN, ...(includeRemoved ? ['removed_at'] : [])]
      const filter = {
        columns: isTable ? shown : publicColumns('active_customers').map(({ name }) => name),
        ...{ organization, search: wanted(search), language: wanted(language), includeRemoved },
        // One more shows whether there are more.
        limit: most === undefined ? undefined : most + 1,
      }
      const { file, configured } = await fileToRead(named)
      let isMore = false
      const rows = readCustomers(file, filter, { configured, signal: io.signal })
      await writeToStream(io.stdout, textOf(rows, layout, { most, onMore: () => (isMore = true) }), io.signal)
      if (isMore && limit === undefined)
        say(io.stderr, `These are the first ${ON_A_TABLE}. For more of them use --limit, --json or 'export'.\n`)
    })
}

/** The service, too, takes no account of spaces around what is searched for, and of a search for nothing. */
function wanted(text: string | undefined): string | undefined {
  return text?.trim() === '' ? undefined : text?.trim()
}
