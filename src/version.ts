import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'

/** This program's version, from its package.json. */
export function version(): string {
  // How many folders that one is above this file differs between a checkout and an installed package.
  const manifest: { version: string } = JSON.parse(readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'))
  return manifest.version
}
