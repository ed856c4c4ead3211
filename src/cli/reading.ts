import type { Mirror } from '../store.ts'
import { Option } from '@commander-js/extra-typings'
import type { Config } from '../config/read-config.ts'
import { plainJson } from './output/plain-text.ts'
import { wholeNumber } from './whole-number-argument.ts'

/** Reads the configuration, opens its mirror to read, and closes it again after `work`. */
export async function withMirror<Result>(
  file: string | undefined,
  work: (mirror: Mirror, config: Config) => Promise<Result>,
): Promise<Result> {
  const { readConfig } = await import('../config/read-config.ts')
  const config = await readConfig({ file, cwd: process.cwd() })
  return withMirrorOf(config, (mirror) => work(mirror, config))
}

/** Opens the mirror of a configuration to read, and closes it again after `work`. */
export async function withMirrorOf<Result>(
  config: Pick<Config, 'mirror'>,
  work: (mirror: Mirror) => Promise<Result>,
): Promise<Result> {
  const { openMirrorToRead } = await import('../mirror/mirror.ts')
  const mirror = await openMirrorToRead(config.mirror)
  try {
    return await work(mirror)
  } finally {
    await mirror.close()
  }
}

/** Throws UsageError for an organization that neither the configuration nor the mirror knows. */
export async function requireKnown(organization: string | undefined, mirror: Mirror, config: Config): Promise<void> {
  if (organization === undefined) return
  if ((await mirror.listRuns({ organization, limit: 1 })).length > 0) return
  const { chooseOrganizations } = await import('../config/organization.ts')
  chooseOrganizations(config, [organization])
}

/** `--limit`, for commands that list the latest entries. */
export function limitOption(most: number) {
  return new Option('--limit <number>', 'how many at most').default(most).argParser(wholeNumber({ least: 1 }))
}

/**
 * One JSON document, as every command with `--json` prints it: for people to read, unless it is to be on one line. No text in it acts on a
 * terminal.
 */
export function jsonDocument(content: Record<string, unknown>, { onOneLine = false } = {}): string {
  const json = JSON.stringify({ schemaVersion: 1, ...content }, null, onOneLine ? undefined : 2)
  // A line end within a text is written out already.
  return `${json.split('\n').map(plainJson).join('\n')}\n`
}
