import { print, say } from './output/print.ts'
import { bareCommand, command, type Io } from './command.ts'
import { namedConfig } from './opening.ts'
import { stringify } from 'yaml'
import { readCredentials } from '../config/credentials.ts'
import { processEnvironment } from '../config/environment.ts'
import { chooseOrganizations, type Organization } from '../config/organization.ts'
import { describeError, UsageError } from '../errors/errors.ts'
import { HEADERS, PRESETS, solveRecipe, stringToSign, unlikePresets, usesNonce } from '../signing/signing.ts'
import { customersUrl } from '../source/customers-page.ts'

export function signingCommand(io: Io) {
  return bareCommand('signing', { 'signing explain acme': '', 'signing solve --help': '' })
    .addCommand(explainCommand(io))
    .addCommand(solveCommand(io))
}

function explainCommand(io: Io) {
  return command('explain', { 'signing explain acme': '' })
    .description('show the exact string that is signed for a request of an organization, without any secret')
    .argument('<organization>', 'id of an organization')
    .action(async (id, { config: file }) => {
      const [organization] = chooseOrganizations(await namedConfig(file), [id])
      if (organization !== undefined) print(io.stdout, await explainSigning(organization, Date.now()))
    })
}

/** Shows what is signed for an organization's first page, line by line. Key, secret and signature are masked. */
async function explainSigning(organization: Organization, nowMs: number): Promise<string> {
  const { id, signing: recipe } = organization
  const url = customersUrl(organization.baseUrl, { page: 1, size: organization.pageSize })
  const moment = { unixMs: nowMs, nonce: '<NONCE>' }
  const text = stringToSign({ method: 'GET', url }, '<API_KEY>', moment, recipe)
  const timestamp = stringToSign({ method: 'GET', url }, '', moment, { ...recipe, template: '{ts}' })
  const preset = Object.entries(PRESETS).find(([, known]) => known === recipe.template)
  const state = readCredentials(organization).then(
    () => '(found)',
    (error: unknown) => `(not found: ${describeError(error).message})`,
  )
  const secret = recipe.secretEncoding === 'utf8' ? 'as UTF-8 text' : `decoded from ${recipe.secretEncoding}`
  return `organization  ${id}
request       GET ${url.href}
recipe        ${preset === undefined ? 'a custom template' : `preset ${preset[0]}`}
template      ${JSON.stringify(recipe.template)}
string        ${JSON.stringify(text)}
signed with   HMAC-SHA256, key = the secret ${secret}
secret        <SECRET> ${await state}

headers
  ${HEADERS.key}: <API_KEY>
  ${HEADERS.timestamp}: ${timestamp}
  ${HEADERS.signature}: ${recipe.prefix}<SIGNATURE, ${recipe.encoding}>
${usesNonce(recipe) ? `  ${recipe.nonceHeader}: <NONCE>\n` : ''}
the string, unescaped
${text.replaceAll(/^/gm, '  | ')}
`
}

function solveCommand(io: Io) {
  return bareCommand('solve', {
    'signing solve --url "$URL" --timestamp "$TS" \\\n      --signature "$SIG" --secret-env ACME_SECRET --api-key-env ACME_API_KEY':
      'the address, the timestamp and the signature of a request that worked',
  })
    .description('find the signing recipe, offline, from one request that is known to work')
    .requiredOption('--url <url>', 'the whole address as it was sent, with its query')
    .requiredOption('--timestamp <text>', 'the timestamp header as it was sent')
    .requiredOption('--signature <text>', 'the signature header as it was sent')
    .requiredOption('--secret-env <name>', 'environment variable that holds the secret')
    .option('--api-key-env <name>', 'environment variable that holds the API key, for recipes that sign it too')
    .action(({ url: text, timestamp, signature, secretEnv, apiKeyEnv }) => {
      const secret = valueOf('--secret-env', secretEnv)
      const apiKey = apiKeyEnv === undefined ? '' : valueOf('--api-key-env', apiKeyEnv)
      const url = URL.parse(text)
      if (url === null)
        throw new UsageError('--url must be a whole address, such as https://host/api/v1/customers?page=1')
      const solutions = solveRecipe({ request: { method: 'GET', url }, timestamp, signature, secret, apiKey })
      if (solutions.length === 0) io.exitWith(3)
      say(io.stderr, solutions.length === 0 ? NOTHING_FOUND : solutions.length === 1 ? FOUND : FOUND_SEVERAL)
      const settings = solutions.map(({ preset, recipe }) =>
        stringify({ signing: { preset, ...unlikePresets(recipe) } }),
      )
      print(io.stdout, settings.join('---\n'))
    })
}

const FOUND = 'Found. In the configuration, under defaults or in the organization:\n'
const FOUND_SEVERAL = 'Any of these fits; take the first.\n'
const NOTHING_FOUND =
  'No preset makes this signature from this request with this secret. Check that address, timestamp and signature are from the same ' +
  'request, byte for byte, and that the secret is not the API key. If the API key may be part of the signed string, add --api-key-env. ' +
  'Otherwise the service signs another string: write it as signing.template.\n'

/** Secrets are named, never given: every user of the machine can read a command line. */
function valueOf(option: string, name: string): string {
  const value = processEnvironment()[name]
  if (value !== undefined && value !== '') return value
  // What was given instead of a name may be the secret itself, so it is not repeated.
  throw new UsageError(`${option}: there is no environment variable of this name, or it is empty. Export it first.`)
}
