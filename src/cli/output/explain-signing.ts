import { stringify } from 'yaml'
import { readCredentials } from '../../config/credentials.ts'
import type { Organization } from '../../config/organization.ts'
import { isOurs } from '../../errors/errors.ts'
import { hanging } from './say.ts'
import { customersUrl } from '../../source/customers-url.ts'
import { PRESETS, stringToSign, unlikePresets, usesNonce, type Recipe } from '../../signing/signing.ts'
import type { Solution } from '../../signing/solve-signing.ts'

/**
 * Shows what is signed for an organization's first page, line by line. Key, secret and signature are masked. What is signed or sent stays
 * whole, to be compared; other lines are as wide as the terminal.
 */
export async function explainSigning(organization: Organization, nowMs: number, columns = Infinity): Promise<string> {
  const { id, signing: recipe } = organization
  const url = customersUrl(organization.baseUrl, { page: 1, size: organization.pageSize })
  const moment = usesNonce(recipe) ? { unixMs: nowMs, nonce: '<NONCE>' } : { unixMs: nowMs }
  const text = stringToSign({ method: 'GET', url }, '<API_KEY>', moment, recipe)
  const timestamp = stringToSign({ method: 'GET', url }, '', moment, { ...recipe, template: '{ts}' })
  return `organization  ${id}
request       GET ${url.href}
recipe        ${recipeName(recipe)}
template      ${JSON.stringify(recipe.template)}
string        ${JSON.stringify(text)}
${hanging('signed with   ', `HMAC-SHA256, key = the secret ${secretWords(recipe)}`, columns)}
${hanging('secret        ', `<SECRET> ${await secretState(organization)}`, columns)}

headers
  ${recipe.headers.key}: <API_KEY>
  ${recipe.headers.timestamp}: ${timestamp}
  ${recipe.headers.signature}: ${recipe.prefix}<SIGNATURE, ${recipe.encoding}>
${usesNonce(recipe) ? `  ${recipe.headers.nonce}: <NONCE>\n` : ''}
the string, unescaped
${text
  .split('\n')
  .map((line) => `  | ${line}\n`)
  .join('')}`
}

/** The configuration for a solution, as YAML. */
export function configurationOf({ preset, recipe }: Solution): string {
  return stringify({ signing: { preset, ...unlikePresets(recipe) } })
}

function recipeName({ template }: Recipe): string {
  const preset = Object.entries(PRESETS).find(([, known]) => known === template)
  return preset === undefined ? 'a custom template' : `preset ${preset[0]}`
}

function secretWords({ secretEncoding }: Recipe): string {
  return secretEncoding === 'utf8' ? 'as UTF-8 text' : `decoded from ${secretEncoding}`
}

async function secretState(organization: Organization): Promise<string> {
  try {
    await readCredentials(organization)
    return '(found)'
  } catch (error) {
    if (isOurs(error)) return `(not found: ${error.message})`
    throw error
  }
}
