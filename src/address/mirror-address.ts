/** Whether the mirror is in PostgreSQL; otherwise its address is the path of a SQLite file. */
export function isPostgres(address: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(address)
}

/**
 * Whether a text is an address of something, or one that lacks a part, and not a path. Taken as a path, it would name a folder such as
 * `s3:`, and messages would show a password in it.
 */
export function isLikeAddress(text: string): boolean {
  return /^\s*(?:[a-z][a-z0-9+.:-]*:\/\/|(?:jdbc:)?postgres(?:ql)?:|[^/\\]*:[^/\\]*@)/i.test(text)
}

/** The address for messages: without user and password. */
export function shownMirror(address: string): string {
  if (!isPostgres(address)) return address
  const url = URL.parse(address)
  if (url === null) return 'postgres://…'
  const schema = url.searchParams.get('schema')
  return `postgres://${url.host}${url.pathname}${schema === null ? '' : `?schema=${schema}`}`
}
