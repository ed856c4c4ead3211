/** The package brings no types. */
declare module 'pgpass/lib/helper.js' {
  type Login = { host: string; port: number; database?: string | undefined; user?: string | undefined }
  export function getFileName(): string
  /** A line of the file; null where it is none with a login. */
  export function parseLine(line: string): { password: string } | null
  export function match(login: Login, line: object): boolean
}
