import { isPostgres } from '../../address/mirror-address.ts'

/** How to finish the work of a command that deleted rows and could not erase their bytes: by running it again. */
export function unfinishedText(mirror: string, command: string): string {
  if (isPostgres(mirror)) {
    return (
      `✖ Not finished: the rows are deleted, but a transaction in ${mirror}, or on a standby of it, that began before still sees ` +
      `them. Wait until queries and runs end (prepared transactions too), then run again:\n  ${command}\n`
    )
  }
  return (
    `✖ Not finished: the rows are deleted, but ${mirror}-wal or unused parts of ${mirror} may still hold their bytes. A program ` +
    'that has the mirror open, too little free space, or a disk that failed kept it from being cleaned. Wait until queries and ' +
    `runs end, then run again:\n  ${command}\n`
  )
}
