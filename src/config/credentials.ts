import { isDeepStrictEqual } from 'node:util'
import { ConfigError, type Problem } from '../errors/errors.ts'
import { privacyPolicy, type PrivacyPolicy } from '../privacy/hidden-values.ts'
import { isEncoded, type Credentials } from '../signing/signing.ts'
import { readText } from './document.ts'
import { processEnvironment } from './environment.ts'
import type { Organization } from './organization.ts'
import type { Config } from './read-config.ts'
import type { SecretReference } from './values.ts'

type Signing = Pick<Organization, 'id' | 'apiKey' | 'secret' | 'signing'>

/** Looks up the key and secret of an organization or reader. Throws one ConfigError for all that is missing or no key or secret, without the value. */
export async function readCredentials(of: Signing & { title?: string }): Promise<Credentials> {
  const { title = `organization ${of.id}`, signing } = of
  const { secretEncoding: encoding } = signing
  const isNot = `is not valid ${encoding}, which signing.secretEncoding says it is: copy it again, or correct the setting`
  const check = (text: string) => (isEncoded(text, encoding) ? undefined : isNot)
  const [apiKey = '', secret = ''] = await lookUp([
    { reference: of.apiKey, what: `the API key of ${title}`, check: keyProblem },
    { reference: of.secret, what: `the secret of ${title}`, check },
  ])
  return { apiKey, secret }
}

/** The policy of an organization with its key. Throws ConfigError if the key cannot be read, or is too short. */
export async function readPrivacy({ id, privacy }: Pick<Organization, 'id' | 'privacy'>): Promise<PrivacyPolicy> {
  if (privacy?.key === undefined) return privacyPolicy({ ...privacy, key: undefined })
  const check = (text: string) => (text.length < SHORTEST_PRIVACY_KEY ? TOO_SHORT : undefined)
  const what = `the privacy key of organization ${id}`
  const [key] = await lookUp([{ reference: privacy.key, what, check }])
  return privacyPolicy({ ...privacy, key })
}

/** The secret that signs reports of nights. Throws ConfigError if it cannot be read, or is no such secret. */
export async function readWebhookSecret(reference: SecretReference): Promise<string> {
  const asked = { reference, what: 'the secret of notify', check: webhookSecretProblem }
  const [secret = ''] = await lookUp([asked])
  return secret
}

/** A program that may read, with its credentials. */
export type Reader = Awaited<ReturnType<typeof readReaders>>[number]

/**
 * Looks up the keys and secrets of the readers. Their requests are signed as those to the service are. Throws ConfigError for a key that cannot
 * be read, or that opens something else too, and for organizations that are not there or that are signed for in different ways.
 */
export async function readReaders({ file, serve: readers = [], organizations }: Config) {
  const refuse = (path: string, message: string) => new ConfigError([{ file, path, message }])
  if (readers.length === 0)
    throw refuse('serve.readers', 'names no reader: each has a name, organizations, apiKey and secret')
  const taken = new Map<string, string>()
  for (const { id, apiKey } of organizations) {
    const known = await valueOf(apiKey)
    if ('text' in known) taken.set(known.text, `organization ${id}`)
  }
  return Array.fromAsync(readers, async ({ name, ...reader }, at) => {
    const refuseReader = (message: string) => refuse(`serve.readers (${name})`, message)
    if (readers.findIndex((other) => other.name === name) < at) throw refuse('serve.readers', `names ${name} twice`)
    const recipes = reader.organizations.map((id) => organizations.find((known) => known.id === id)?.signing)
    const [recipe] = recipes
    if (recipe === undefined || recipes.includes(undefined))
      throw refuseReader('names an organization that is not configured')
    if (recipes.some((other) => !isDeepStrictEqual(other, recipe)))
      throw refuseReader('names organizations whose requests are signed differently: make it two readers')
    const credentials = await readCredentials({ ...reader, id: name, title: `reader ${name}`, signing: recipe })
    const other = taken.get(credentials.apiKey)
    if (other !== undefined) throw refuseReader(`has the API key of ${other}: each key opens one thing`)
    taken.set(credentials.apiKey, `reader ${name}`)
    return { name, ...reader, ...credentials, recipe }
  })
}

/** All phone numbers there are can be hashed in hours: what a shorter key could be, can be tried out too. */
const SHORTEST_PRIVACY_KEY = 32
const TOO_SHORT = `must have at least ${SHORTEST_PRIVACY_KEY} characters: make one with \`openssl rand -hex 32\``

type Asked = { reference: SecretReference; what: string; check: (text: string) => string | undefined }

/** The texts at these places. Throws one ConfigError that names all that are missing or are not what they should be. */
async function lookUp(asked: readonly Asked[]): Promise<string[]> {
  const texts: string[] = []
  const problems: Problem[] = []
  for (const { reference, what, check } of asked) {
    const { text = '', problem = surprise(text) ?? check(text) } = await valueOf(reference)
    if (problem === undefined) texts.push(text)
    else problems.push({ file: secretPlace(reference), message: `(${what}) ${problem}` })
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return texts
}

async function valueOf(reference: SecretReference) {
  if ('literal' in reference) return { text: reference.literal }
  if ('env' in reference) {
    const environment = processEnvironment()
    // It inherits from Object, and so has a `toString`.
    const text = Object.hasOwn(environment, reference.env) ? environment[reference.env] : undefined
    return text === undefined ? { problem: 'is not set: export it before running, or use { file: path }' } : { text }
  }
  const content = await readText(reference.file, { maxBytes: 64 * 1024 })
  if (content.text === undefined) {
    const advice = content.missing ? ': create it, readable by this user only (chmod 600)' : ''
    return { problem: content.problem + advice }
  }
  // Most tools end a file with a line break, which is not part of the secret.
  return { text: content.text.replace(/[\r\n]+$/, '') }
}

/** The place of a problem. An odd variable name is not repeated: it may be a key pasted by mistake. */
function secretPlace(reference: SecretReference): string {
  if ('file' in reference) return reference.file
  if ('literal' in reference) return 'configuration'
  return /^[A-Z_][A-Z0-9_]*$/.test(reference.env) ? `environment ${reference.env}` : 'environment variable'
}

function surprise(text: string): string | undefined {
  if (text.trim() === '') return 'is empty: put the value in'
  if (text !== text.trim() || /[\r\n\0]/.test(text))
    return 'must be one line of text, without white space around it (other bytes can be given with signing.secretEncoding base64)'
  if (/^(["']).*\1$/.test(text)) return 'is wrapped in quotes that would be taken as part of it: remove them'
  return undefined
}

function keyProblem(text: string): string | undefined {
  return /^[!-~]+$/.test(text) ? undefined : 'has characters that cannot be sent in a header: copy the key again'
}

/** As https://www.standardwebhooks.com has it. */
function webhookSecretProblem(text: string): string | undefined {
  if (/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/.test(text)) return undefined
  return 'must be whsec_ and 24 to 64 bytes in base64: make one with `echo "whsec_$(openssl rand -base64 32)"`'
}
