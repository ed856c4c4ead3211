import { stat } from 'node:fs/promises'
import { ConfigError, type Problem } from '../errors/errors.ts'
import { privacyPolicy, type PrivacyPolicy } from '../privacy/privacy-policy.ts'
import type { Credentials, SecretEncoding } from '../signing/signing.ts'
import { processEnvironment, type Environment } from './environment.ts'
import type { Organization } from './organization.ts'
import type { SecretReference } from './values.ts'
import { readText, type FileText } from './read-text.ts'
import type { Sleep } from '../machine/timers.ts'

/**
 * Looks up an organization's key and secret. Throws one ConfigError that names every variable or file that is missing or
 * cannot be a key or secret. Never repeats the value.
 */
export async function readCredentials(
  organization: Pick<Organization, 'id' | 'apiKey' | 'secret' | 'signing'>,
  environment: Environment = processEnvironment(),
): Promise<Credentials> {
  const { id, signing } = organization
  const [apiKey, secret] = await Promise.all([
    lookUp(organization.apiKey, { what: `the API key of organization ${id}`, environment, check: keyProblem }),
    lookUp(organization.secret, {
      what: `the secret of organization ${id}`,
      environment,
      check: (text) => secretProblem(text, signing.secretEncoding),
    }),
  ])
  if ('text' in apiKey && 'text' in secret) return { apiKey: apiKey.text, secret: secret.text }
  throw new ConfigError([apiKey, secret].flatMap((found) => ('problem' in found ? [found.problem] : [])))
}

/**
 * The policy of an organization with its key. Throws ConfigError if the key cannot be read, is too short, or its file is being written: part of
 * a key is another key, under which all that is hidden would be hidden anew.
 */
export async function readPrivacy(
  { id, privacy }: Pick<Organization, 'id' | 'privacy'>,
  resting: Resting,
  environment: Environment = processEnvironment(),
): Promise<PrivacyPolicy> {
  if (privacy?.key === undefined) return privacyPolicy({ ...privacy, key: undefined })
  const check = (text: string) => (text.length < SHORTEST_PRIVACY_KEY ? TOO_SHORT : undefined)
  const readFile = (path: string) => readRestedText(path, { maxBytes: MAX_BYTES }, resting)
  const key = await lookUp(privacy.key, { what: `the privacy key of organization ${id}`, environment, check, readFile })
  if ('text' in key) return privacyPolicy({ ...privacy, key: key.text })
  throw new ConfigError([key.problem])
}

/** The secret that signs reports of nights. Throws ConfigError if it cannot be read, or is no such secret. */
export async function readWebhookSecret(reference: SecretReference): Promise<string> {
  const environment = processEnvironment()
  const found = await lookUp(reference, { what: 'the secret of notify', environment, check: webhookSecretProblem })
  if ('text' in found) return found.text
  throw new ConfigError([found.problem])
}

/** All phone numbers there are can be hashed in hours: what a shorter key could be, can be tried out too. */
const SHORTEST_PRIVACY_KEY = 32
const TOO_SHORT = `must have at least ${SHORTEST_PRIVACY_KEY} characters: make one with \`openssl rand -hex 32\``

type Found = { text: string } | { problem: Problem }
type Lookup = {
  what: string
  environment: Environment
  check: (text: string) => string | undefined
  readFile?: (path: string) => Promise<FileText>
}

async function lookUp(reference: SecretReference, { what, environment, check, readFile }: Lookup): Promise<Found> {
  const fail = (message: string): Found => ({ problem: { file: placeOf(reference), message: `(${what}) ${message}` } })
  const found = await valueOf(reference, environment, readFile)
  if ('absent' in found) return fail(found.absent)
  const problem = surprise(found.text) ?? check(found.text)
  return problem === undefined ? found : fail(problem)
}

async function valueOf(
  reference: SecretReference,
  environment: Environment,
  readFile = (path: string) => readText(path, { maxBytes: MAX_BYTES }),
): Promise<{ text: string } | { absent: string }> {
  if ('literal' in reference) return { text: reference.literal }
  if ('env' in reference) {
    // The environment inherits from Object, and so has a `toString`.
    const text = Object.hasOwn(environment, reference.env) ? environment[reference.env] : undefined
    return text === undefined ? { absent: 'is not set: export it before running, or use { file: path }' } : { text }
  }
  const content = await readFile(reference.file)
  if ('problem' in content) {
    const advice = content.missing ? ': create it, readable by this user only (chmod 600)' : ''
    return { absent: content.problem + advice }
  }
  // Most tools end a file with a line break, which is not part of the secret.
  return { text: content.text.replace(/[\r\n]+$/, '') }
}

const MAX_BYTES = 64 * 1024

/** The place of a problem. An odd variable name is not repeated: it may be a key pasted by mistake. */
function placeOf(reference: SecretReference): string {
  if ('file' in reference) return reference.file
  if ('literal' in reference) return 'configuration'
  return /^[A-Z_][A-Z0-9_]*$/.test(reference.env) ? `environment ${reference.env}` : 'environment variable'
}

/** Why a text cannot be a key or a secret; undefined if it can. */
function surprise(text: string): string | undefined {
  if (text.trim() === '') return 'is empty: put the value in'
  if (/[\r\n]/.test(text))
    return 'has more than one line: keep the value alone (bytes of any kind can be given with signing.secretEncoding base64)'
  if (text !== text.trim()) return 'begins or ends with white space: remove it'
  if (/^(["']).*\1$/.test(text)) return 'is wrapped in quotes that would be taken as part of it: remove them'
  if (text.includes('\0')) return 'holds NUL characters: was it saved as UTF-16?'
  return undefined
}

function keyProblem(text: string): string | undefined {
  return /^[!-~]+$/.test(text) ? undefined : 'has characters that cannot be sent in a header: copy the key again'
}

function secretProblem(text: string, encoding: SecretEncoding): string | undefined {
  if (encoding === 'utf8') return undefined
  const unpadded = text.replace(/={1,2}$/, '')
  const valid =
    encoding === 'hex'
      ? text.length % 2 === 0 && HEX.test(text)
      : unpadded.length % 4 !== 1 && ALPHABET[encoding].test(unpadded)
  if (valid) return undefined
  const other = encoding === 'base64' && ALPHABET.base64url.test(unpadded) ? ' (it may be base64url)' : ''
  return `is not valid ${encoding}, which signing.secretEncoding says it is${other}: copy it again, or correct the setting`
}

/** As https://www.standardwebhooks.com has it. */
function webhookSecretProblem(text: string): string | undefined {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = base64 === undefined ? 0 : Buffer.from(base64, 'base64').length
  if (bytes >= 24 && bytes <= 64) return undefined
  return 'must be whsec_ and 24 to 64 bytes in base64: make one with `echo "whsec_$(openssl rand -base64 32)"`'
}

const HEX = /^[0-9a-f]+$/i
const ALPHABET = { base64: /^[A-Za-z0-9+/]+$/, base64url: /^[A-Za-z0-9_-]+$/ } as const

/** How long a file must not have been written to be taken as whole: the program that writes it may not be done. */
const REST_MS = 1000

type Resting = {
  /** Unix milliseconds. */
  now: () => number
  sleep: Sleep
  /** Ends the rest, and what is stopped reads at once. */
  signal: AbortSignal
}

/**
 * Reads a file as `readText` does. One that was written a moment ago is read again after a rest, and is a problem if it holds another text
 * then.
 */
async function readRestedText(
  path: string,
  limits: { maxBytes: number },
  { now, sleep, signal }: Resting,
): Promise<FileText> {
  const found = await readText(path, limits)
  // Looked at after the reading: what was written meanwhile was written a moment ago.
  const writtenMs = 'text' in found ? await writtenAtMs(path) : undefined
  if (writtenMs === undefined || Math.abs(now() - writtenMs) >= REST_MS) return found
  await sleep(REST_MS, signal).catch(() => {})
  const again = await readText(path, limits)
  if ('problem' in again || ('text' in found && again.text === found.text)) return again
  return { problem: 'was changed while it was read: wait until it is written, then try again', missing: false }
}

/** When a file was last written; undefined for a pipe, which can be read once. */
async function writtenAtMs(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true ? found.mtimeMs : undefined
}
