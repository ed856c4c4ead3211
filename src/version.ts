import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

let known: string | undefined

/** This program's version, from its package.json. It is read once: a run does not depend on the file. */
export function version(): string {
  return (known ??= read())
}

function read(): string {
  // How many folders that one is above this file differs between a checkout and an installed package.
  const manifest: { version: string } = JSON.parse(readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'))
  return manifest.version
}
