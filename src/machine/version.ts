import { existsSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/** This program's version, from its package.json. */
export function version(): string {
  return VERSION
}

/** The version and, where it is known, the commit it was made from: `0.2.0+4c3a4cc1a2b3`. */
export function exactVersion(): string {
  return COMMIT === undefined ? VERSION : `${VERSION}+${COMMIT}`
}

/** The commit this program was made from, as its build wrote it down; undefined in a checkout, and where the build knew none. */
export function commit(): string | undefined {
  return COMMIT
}

/** Whether this is a checkout, where commands are run by npm, and not an installed package. */
export function isCheckout(): boolean {
  return existsSync(join(ROOT, 'src/cli/main.ts'))
}

/** The file of a program that runs apart, such as `report/publish-process`: compiled as this code is, or TypeScript as this code is. */
export function programFile(name: string): string {
  return IS_COMPILED ? join(ROOT, 'dist/src', `${name}.js`) : join(ROOT, 'src', `${name}.ts`)
}

const MANIFEST = findPackageJSON(import.meta.url) ?? ''
const ROOT = dirname(MANIFEST)
const IS_COMPILED = !import.meta.url.endsWith('.ts')

// Both are read once, at the start: a run does not depend on the files.
const { version: VERSION }: { version: string } = JSON.parse(readFileSync(MANIFEST, 'utf8'))
const COMMIT = isCheckout() ? undefined : /^[0-9a-f]{12}/.exec(readFileSync(join(ROOT, 'dist/commit'), 'utf8'))?.[0]
