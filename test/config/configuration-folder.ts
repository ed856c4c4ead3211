import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, readConfig } from '../../src/config/read-config.ts'
import { ConfigError } from '../../src/errors/errors.ts'
import { temporaryFolder } from '../support/mirror-file.ts'

export async function aFolder(files: Record<string, string | Uint8Array> = {}): Promise<string> {
  const folder = temporaryFolder()
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  return folder
}

export async function configOf(text: string | Uint8Array, name = 'customer-mirror.yaml'): Promise<Config> {
  return readConfig({ cwd: await aFolder({ [name]: text }), file: name, environment: {} })
}

/** The lines of the ConfigError that reading this text throws; fails for any other outcome. */
export async function mistakesIn(text: string | Uint8Array, name?: string): Promise<string[]> {
  return linesOf(configOf(text, name))
}

export async function linesOf(attempt: Promise<unknown>): Promise<string[]> {
  const outcome = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (outcome instanceof ConfigError) return outcome.message.split('\n')
  throw outcome ?? new Error('nothing was wrong')
}

/** A configuration of one organization without mistakes, with `lines` put at the end of the organization. */
export function acme(...lines: string[]): string {
  return [
    'organizations:',
    '  - id: acme',
    '    baseUrl: https://acme.example.com/api/v1',
    '    apiKey: { env: ACME_API_KEY }',
    '    secret: { env: ACME_SECRET }',
    ...lines.map((line) => `    ${line}`),
    '',
  ].join('\n')
}

/** Another organization, to follow that one. */
export function globex(...lines: string[]): string {
  return acme(...lines)
    .replace('organizations:\n', '')
    .replaceAll(/acme/gi, 'globex')
}
