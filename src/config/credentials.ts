import { ConfigError, type Problem } from '../errors/errors.ts'
import { privacyPolicy, type PrivacyPolicy } from '../privacy/privacy-policy.ts'
import type { Credentials, SecretEncoding } from '../signing/signing.ts'
import { processEnvironment, type Environment } from './environment.ts'
import type { Organization } from './organization.ts'
import type { SecretReference } from './values.ts'
import { readText } from './read-text.ts'

type Signing = Pick<Organization, 'id' | 'apiKey' | 'secret' | 'signing'>

/**
 * Looks up the key and secret of an organization, or of something else that has a title. Throws one ConfigError that names every variable or file that is missing or
 * cannot be a key or secret. Never repeats the value.
 */
export async function readCredentials(
  { id, title = `organization ${id}`, signing, ...kept }: Signing & { title?: string },
  environment: Environment = processEnvironment(),
): Promise<Credentials> {
  const [apiKey, secret] = await Promise.all([
    lookUp(kept.apiKey, { what: `the API key of ${title}`, environment, check: keyProblem }),
    lookUp(kept.secret, {
      what: `the secret of ${title}`,
      environment,
      check: (text) => secretProblem(text, signing.secretEncoding),
    }),
  ])
  if ('text' in apiKey && 'text' in secret) return { apiKey: apiKey.text, secret: secret.text }
  throw new ConfigError([apiKey, secret].flatMap((found) => ('problem' in found ? [found.problem] : [])))
}

/** The API key of an organization where this process can read it. */
export async function apiKeyAtHand({ id, apiKey }: Pick<Organization, 'id' | 'apiKey'>): Promise<string | undefined> {
  const environment = processEnvironment()
  const found = await lookUp(apiKey, { what: `the API key of organization ${id}`, environment, check: keyProblem })
  return 'text' in found ? found.text : undefined
}

/** The policy of an organization with its key. Throws ConfigError if the key cannot be read, or is too short. */
export async function readPrivacy(
  { id, privacy }: Pick<Organization, 'id' | 'privacy'>,
  environment: Environment = processEnvironment(),
): Promise<PrivacyPolicy> {
  if (privacy?.key === undefined) return privacyPolicy({ ...privacy, key: undefined })
  const check = (text: string) => (text.length < SHORTEST_PRIVACY_KEY ? TOO_SHORT : undefined)
  const key = await readSecret(privacy.key, { what: `the privacy key of organization ${id}`, environment, check })
  return privacyPolicy({ ...privacy, key })
}

/** The secret that signs reports of nights. Throws ConfigError if it cannot be read, or is no such secret. */
export async function readWebhookSecret(reference: SecretReference): Promise<string> {
  const environment = processEnvironment()
  return readSecret(reference, { what: 'the secret of notify', environment, check: webhookSecretProblem })
}

async function readSecret(reference: SecretReference, lookup: Lookup): Promise<string> {
  const found = await lookUp(reference, lookup)
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
}

async function lookUp(reference: SecretReference, { what, environment, check }: Lookup): Promise<Found> {
  const fail = (message: string): Found => ({ problem: { file: placeOf(reference), message: `(${what}) ${message}` } })
  const found = await valueOf(reference, environment)
  if ('absent' in found) return fail(found.absent)
  const problem = surprise(found.text) ?? check(found.text)
  return problem === undefined ? found : fail(problem)
}

async function valueOf(
  reference: SecretReference,
  environment: Environment,
): Promise<{ text: string } | { absent: string }> {
  if ('literal' in reference) return { text: reference.literal }
  if ('env' in reference) {
    // The environment inherits from Object, and so has a `toString`.
    const text = Object.hasOwn(environment, reference.env) ? environment[reference.env] : undefined
    return text === undefined ? { absent: 'is not set: export it before running, or use { file: path }' } : { text }
  }
  const content = await readText(reference.file, { maxBytes: MAX_BYTES })
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
