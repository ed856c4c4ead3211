import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import { isLoopback } from '../address/http-address.ts'
import { UsageError } from '../errors/errors.ts'
import { makeFolder } from '../machine/folders.ts'
import { DEFAULT_PRESET, recipeOf } from '../signing/signing.ts'
import type { Sandbox } from './sandbox.ts'
import { codeOf } from '../errors/faults.ts'

/** Top-level settings of the configuration; without a queue it is for `sync`, and for a worker that keeps its queue itself. */
type SandboxConfig = { mirror?: string; queue?: string; schedule?: { cron: string; timezone: string } }

/** Often enough that a worker in a trial has something to do. */
const HOURLY = { cron: '0 * * * *', timezone: 'UTC' }

/**
 * Writes a configuration that mirrors every organization of the sandbox, readable by its owner only. Throws a
 * UsageError when the file exists already or cannot be written.
 */
export async function writeConfig(
  file: string,
  sandbox: Pick<Sandbox, 'organizations' | 'recipe'>,
  { mirror = './data/customers.db', schedule = HOURLY, ...others }: SandboxConfig = {},
): Promise<void> {
  const distant = sandbox.organizations.find(({ baseUrl }) => !isLoopback(new URL(baseUrl)))
  if (distant) {
    throw new UsageError(
      `No configuration was written: it may contain keys and use http only for this machine, not for ${distant.baseUrl}. ` +
        'Start the sandbox with --host 127.0.0.1.',
    )
  }
  const text = configText(sandbox, { mirror, schedule, ...others })
  try {
    makeFolder(dirname(file))
    // `wx` fails when the file exists, without a separate check before.
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new UsageError(explain(file, error), { cause: error })
  }
}

function configText({ organizations, recipe }: Pick<Sandbox, 'organizations' | 'recipe'>, top: SandboxConfig): string {
  const isDefault = isDeepStrictEqual(recipe, recipeOf(DEFAULT_PRESET))
  const text = stringify({
    ...top,
    ...(!isDefault && { defaults: { signing: recipe } }),
    organizations: organizations.map(({ id, baseUrl, apiKey, secret }) => ({ id, baseUrl, apiKey, secret })),
  })
  return `${SANDBOX_HEADING}${text}`
}

function explain(file: string, error: unknown): string {
  const code = codeOf(error) ?? 'unknown'
  if (code === 'EEXIST') return `${file} exists already and was not changed. Name another file, or delete it first.`
  return `${file} cannot be written (${code}). Name a file in a folder this user may write to.`
}

/** The first lines of every configuration written here. */
const SANDBOX_HEADING = `# Mirrors the organizations of a sandbox. The keys and secrets below open nothing else; those of a real service
# do not belong in a file like this: name them as { env: NAME } or { file: path }.
`
