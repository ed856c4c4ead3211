import { readCredentials } from '../credentials.ts'
import type { Environment } from '../environment.ts'
import { isOurs } from '../../errors/errors.ts'
import type { Organization, SecretReference } from '../organization.ts'

/** A key or secret that is used as it stands, and is probably meant as something else. Its value is not repeated. */
export type UnlikelyCredential = { what: 'API key' | 'secret'; said: string; fix: string }

/** The key and the secret of an organization that look like something else. None where they cannot be read, which is reported elsewhere. */
export async function unlikelyCredentials(
  organization: Pick<Organization, 'id' | 'apiKey' | 'secret' | 'signing'>,
  environment: Environment,
): Promise<UnlikelyCredential[]> {
  const read = await readCredentials(organization, environment).catch((error: unknown) => {
    if (isOurs(error)) return undefined
    throw error
  })
  if (read === undefined) return []
  return [
    ...unlikely('API key', organization.apiKey, read.apiKey),
    ...unlikely('secret', organization.secret, read.secret),
  ]
}

function unlikely(what: UnlikelyCredential['what'], reference: SecretReference, text: string): UnlikelyCredential[] {
  if ('literal' in reference) return REFERENCE.test(text) ? [{ what, ...LIKE_REFERENCE }] : []
  if (!ASSIGNMENT.test(text)) return []
  const place = 'file' in reference ? reference.file : `the variable ${reference.env}`
  const said = `${place} holds NAME=value, and all of it is used: the service may refuse that`
  return [{ what, said, fix: 'keep the value alone there, without the name and the = in front of it.' }]
}

/** A shell's or a template's way to name a variable or a file. */
const REFERENCE = /^(?:\$\{?[A-Za-z_]\w*\}?|(?:env|file):.+)$/

const LIKE_REFERENCE = {
  said: 'its text in the configuration names a variable or a file, and is used as it stands',
  fix: 'write { env: NAME } or { file: path }, as is done everywhere but on this machine.',
}

/** A line of an env file. The end of base64 has nothing but more signs behind the first one. */
const ASSIGNMENT = /^(?:export\s+)?[A-Za-z_]\w+=[^=]/
