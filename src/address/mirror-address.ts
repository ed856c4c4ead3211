import { dirname, join, resolve } from 'node:path'

/** Whether the mirror is in PostgreSQL; otherwise its address is the path of a SQLite file. */
export function isPostgres(address: string): boolean {
  return /^postgres(?:ql)?:\/\//i.test(address)
}

/** Whether a text is meant as an address, and is no path: as a path it would name a folder such as `s3:`, and messages show a password in it. */
export function isLikeAddress(text: string): boolean {
  return LIKE_ADDRESS.some((pattern) => pattern.test(text))
}

/** Quotes stay around a value in a file of `docker run --env-file`. */
const LIKE_ADDRESS = [
  /^[\s"']*(?:[a-z][a-z0-9+.:-]*:\/\/|(?:jdbc:)?postgres(?:ql)?(?::|\/\/)|[^/\\]*:[^/\\]*@)/i,
  // As libpq, ODBC and .NET have it: `host=db user=mirror password=…`, and a password as a parameter of anything.
  /^[\s"']*\w+\s*=\s*[^\s;]+[\s;]+\w+\s*=/,
  /(?:^|[\s"';?&])(?:password|passwd|pwd)\s*=/i,
]

/** The address for messages: without user and password. */
export function shownMirror(address: string): string {
  if (!isPostgres(address)) return address
  const url = URL.parse(address)
  if (url === null) return 'postgres://…'
  const schema = url.searchParams.get('schema')
  return `postgres://${url.host}${url.pathname}${schema === null ? '' : `?schema=${schema}`}`
}

/** The mirror with an absolute path, or with that of a certificate in its address, each starting from the folder. */
export function absoluteMirror(address: string, folder: string): string {
  if (!isPostgres(address)) return resolve(folder, address)
  const url = URL.parse(address)
  const certificate = url?.searchParams.get('sslrootcert')
  if (url === null || typeof certificate !== 'string') return address
  url.searchParams.set('sslrootcert', resolve(folder, certificate))
  return url.href
}

/** The folder for what belongs to a mirror: that of its file, or for a database `data` beside the configuration. */
export function folderBeside({ mirror, file }: { mirror: string; file: string }): string {
  return isPostgres(mirror) ? join(dirname(file), 'data') : dirname(mirror)
}

/** Whether other processes than its worker reach the queue at this address: an embedded one is open in its worker alone. */
export function isSharedQueue(address: string | undefined): address is string {
  return address !== undefined && address !== 'embedded'
}
