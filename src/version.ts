import { readFileSync } from 'node:fs'

/** This program's version, from its package.json. */
export function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return manifest.version
}
