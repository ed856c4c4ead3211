import { isPostgres } from '../../address/mirror-address.ts'
import { sqlText } from './say.ts'

/** Where rows may still be that the mirror has forgotten: copies for readers, and mirrors that restores replaced or left unfinished. */
type Beyond = {
  copies: readonly string[]
  replaced: readonly string[]
  /** Whose rows they are. */
  organization: string
  id?: string
}

/** What cannot be reached from here. */
export function beyondText({ copies, replaced, organization, id }: Beyond): string {
  const where = `WHERE organization = ${sqlText(organization)}${id === undefined ? '' : ` AND id = ${sqlText(id)}`};`
  const lines = [
    '',
    `This ${id === undefined ? 'organization' : 'customer'} may still be in places that Customer Mirror cannot reach:`,
    id === undefined
      ? '  - a worker whose configuration still names this organization, and which would load it again: it reads the new one within two ' +
        'seconds, or when it is restarted'
      : '  - the service: as long as it lists the customer, it has the data',
    ...listed(
      'copies for readers, made before. The next publish replaces one that holds other rows too (customer-mirror publish makes it now); ' +
        'other and older ones, and what a killed publish left (.unfinished), stay until you remove them:',
      copies,
    ),
    ...replacedLines(replaced),
    '  - backups of the mirror, the mirror that it was moved from, copies that were published to other places, exports, and logs of the ' +
      'service or of a proxy: delete them there, or let them expire',
    '  - databases that were filled from the mirror. No change announces this deletion. Run there:',
    ...['customers', 'changes', 'customers_history'].map((table) => `      DELETE FROM ${table} ${where}`),
  ]
  return `${lines.join('\n')}\n`
}

/** Files beside the mirror that restores and moves left there. */
export function replacedLines(replaced: readonly string[]): string[] {
  return listed(
    'mirrors that a restore replaced, or that a killed restore or move left unfinished: remove them',
    replaced,
  )
}

function listed(what: string, files: readonly string[]): string[] {
  return files.length === 0 ? [] : [`  - ${what}`, ...files.map((file) => `      ${file}`)]
}

/** What is left of rows that were deleted and whose bytes were erased, as far as the store can say. */
export function erasedText(mirror: string, rows: string): string {
  if (!isPostgres(mirror)) return `No byte of ${mirror} holds ${rows}.\n`
  return (
    `No query of ${mirror} finds ${rows}.\nBytes may stay in the server's files until it reuses the space (VACUUM FULL writes the tables anew), ` +
    'and in its WAL, replicas and backups until they expire.\n'
  )
}

/** How to finish the work of a command that deleted rows and could not erase their bytes: by running it again. */
export function unfinishedText(mirror: string, command: string): string {
  const why = isPostgres(mirror)
    ? `a transaction in ${mirror}, or on a standby of it, that began before still sees them (a prepared one too)`
    : `${mirror}-wal or unused parts of ${mirror} may still hold their bytes. A program that has the mirror open, too little free space, or a ` +
      'disk that failed kept it from being cleaned'
  return `✖ Not finished: the rows are deleted, but ${why}. Wait until queries and runs end, then run again:\n  ${command}\n`
}
