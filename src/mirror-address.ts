/** Whether the mirror is in PostgreSQL; otherwise its address is the path of a SQLite file. */
export function isPostgres(address: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(address)
}

/** The address for messages: without user and password. */
export function shownMirror(address: string): string {
  if (!isPostgres(address)) return address
  const url = URL.parse(address)
  if (url === null) return 'postgres://…'
  const schema = url.searchParams.get('schema')
  return `postgres://${url.host}${url.pathname}${schema === null ? '' : `?schema=${schema}`}`
}
