/** The package brings no types. */
declare module 'pgpass/lib/helper.js' {
  /** The path of the password file, as the environment has it. */
  export function getFileName(): string
}
