/** What is said of a statement of the command sql, whichever mirror it is for. */
export const WRITES = 'The statement would write. sql only reads: the mirror is written by runs alone.'

export const SEVERAL = 'There is more than one statement. sql runs one; use UNION ALL, or call it again.'

export function noRoomFor(message: string): string {
  return `There is no room for what the statement has to sort or keep: ${message}. Ask for less at once.`
}
