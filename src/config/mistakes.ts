import { z } from 'zod'
import { isLoopback } from '../address/http-address.ts'
import { isMapping } from '../text/parsed-json.ts'
import { valueAt, type Mistake } from './document.ts'
import { privacyMistakes } from './privacy.ts'
import { configFile, parseBaseUrl } from './schema.ts'
import { didYouMean } from './suggestion.ts'
import { NOT_IN_THIS_FILE } from './values.ts'

/* Every mistake in the data of a configuration: what the schema finds, in words, and values that contradict each other. */

type Issue = z.core.$ZodIssue

/** The data as parsed by the schema, where it fits, and every mistake in it. */
export function checkData(data: unknown) {
  const { data: file, error } = configFile.safeParse(data, { error: wording, jitless: true })
  return { file, mistakes: [...mistakesOf(error?.issues ?? [], []), ...crossCheck(data)] }
}

function mistakesOf(issues: readonly Issue[], above: readonly PropertyKey[]): Mistake[] {
  // A misspelt key is one mistake, not an unknown key and a missing one.
  const strange = issues.filter(({ code }) => code === 'unrecognized_keys').map(({ path }) => path.join('.'))
  return issues
    .filter(({ code, path }) => code !== 'custom' || !strange.includes(path.join('.')))
    .flatMap((issue) => mistakesOfOne(issue, [...above, ...issue.path]))
}

function mistakesOfOne(issue: Issue, path: readonly PropertyKey[]): Mistake[] {
  if (issue.code === 'unrecognized_keys') return unknownKeys(path, issue.keys)
  const branches = issue.code === 'invalid_union' ? issue.errors : []
  const meant = branches.find((each) => !each.some(({ code, path: at }) => code === 'invalid_type' && at.length === 0))
  return meant === undefined ? [{ path, message: issue.message }] : mistakesOf(meant, path)
}

const SECRET_FORM = 'must be { env: NAME } or { file: path }'

function unknownKeys(path: readonly PropertyKey[], keys: readonly string[]): Mistake[] {
  const known = keysAt(configFile, path)
  // `apiKey: {abc}` and `apiKey: {abc: }` make the value a key, so a key is not repeated here.
  if (known.includes('env')) return [{ path, message: `holds an unknown key: it ${SECRET_FORM}` }]
  return keys.map((key) => {
    const hint = key === '<<' ? MERGE_KEY : didYouMean(key, known) || ` (known are ${known.join(', ')})`
    return { path: [...path, key], isKey: true, message: `unknown key${hint}` }
  })
}

const MERGE_KEY = ' (merge keys are not supported: put shared settings under defaults)'

function keysAt(schema: unknown, path: readonly PropertyKey[]): string[] {
  if (schema instanceof z.ZodExactOptional) return keysAt(schema.unwrap(), path)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => keysAt(option, path))
  if (schema instanceof z.ZodArray) return keysAt(schema.element, path.slice(1))
  if (!(schema instanceof z.ZodObject)) return []
  const [key, ...rest] = path
  return key === undefined ? Object.keys(schema.shape) : keysAt(schema.shape[String(key)], rest)
}

/** Messages for issues that the schema gives no message for. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_value') return oneOf(issue.values.map(String), issue.input)
  if (issue.code === 'invalid_union') return issue.input === undefined ? `is missing: it ${SECRET_FORM}` : SECRET_FORM
  if (issue.code !== 'invalid_type') return undefined
  if (issue.input === undefined) return 'is missing'
  if (issue.input === null) return 'is empty: give it a value, or remove the key'
  if (issue.expected === 'string' && ['number', 'boolean'].includes(typeof issue.input))
    return 'must be text: put it in quotes'
  return `must be ${EXPECTED[issue.expected] ?? 'something else'}`
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'text',
  array: 'a list, each item on its own line after a dash',
  object: 'a mapping of keys to values',
}

function oneOf(values: readonly string[], written: unknown): string {
  if (values.length === 1) return `must be ${values.join('')}, or left out`
  return `must be one of ${values.join(', ')}${typeof written === 'string' ? didYouMean(written, values) : ''}`
}

/** Values that are valid alone but contradict each other, in data of any shape: they are reported together with mistakes of the schema. */
function crossCheck(data: unknown): Mistake[] {
  const listed = valueAt(data, 'organizations')
  const organizations: readonly unknown[] = Array.isArray(listed) ? listed : []
  return [
    ...organizations.flatMap((organization, index) => [
      ...exposedSecrets(organization, index),
      ...unfinishedSchedule(data, index),
      ...privacyMistakes(data, index),
    ]),
    ...twins(organizations, (organization) => valueAt(organization, 'id')).map(([index, first]) => ({
      path: ['organizations', index, 'id'],
      message: `is the id of organizations.${first} too: every id must differ`,
    })),
    ...mirroredTwice(organizations),
    ...disagreeingLimits(data, organizations),
  ]
}

/** A secret may be written into the file only for a service on this machine. */
function exposedSecrets(organization: unknown, index: number): Mistake[] {
  const url = URL.parse(String(valueAt(organization, 'baseUrl')))
  if (url === null || isLoopback(url)) return []
  const written = ['apiKey', 'secret'].filter((name) => typeof valueAt(organization, name) === 'string')
  const exposed = written.filter((name) => valueAt(organization, name) !== '')
  return exposed.map((name) => ({ path: ['organizations', index, name], message: NOT_IN_THIS_FILE }))
}

function unfinishedSchedule(data: unknown, index: number): Mistake[] {
  const path = ['organizations', index, 'schedule']
  const own = valueAt(data, ...path)
  if (!isMapping(own)) return []
  return ['cron', 'timezone']
    .filter((name) => own[name] === undefined && valueAt(data, 'schedule', name) === undefined)
    .map((name) => ({ path: [...path, name], message: NO_SCHEDULE }))
}

const NO_SCHEDULE = 'is missing, and there is no schedule at the top level to take it from'

function mirroredTwice(organizations: readonly unknown[]): Mistake[] {
  const identity = (organization: unknown) => {
    const [parsed, apiKey] = [parseBaseUrl(String(valueAt(organization, 'baseUrl'))), valueAt(organization, 'apiKey')]
    return parsed instanceof URL && apiKey !== undefined ? JSON.stringify([parsed.href, apiKey]) : undefined
  }
  return twins(organizations, identity).map(([index, first]) => ({
    path: ['organizations', index, 'baseUrl'],
    message: `has the address and the API key of organizations.${first}: the same customers would be mirrored twice`,
  }))
}

function disagreeingLimits(data: unknown, organizations: readonly unknown[]): Mistake[] {
  const setting = (organization: unknown, name: string): unknown =>
    valueAt(organization, 'rateLimit', name) ?? valueAt(data, 'defaults', 'rateLimit', name)
  const limit = (index: number) => setting(organizations[index], 'requestsPerMinute')
  return twins(organizations, (organization) => setting(organization, 'shared'))
    .filter(([index, first]) => limit(index) !== limit(first))
    .map(([index, first]) => ({
      path: ['organizations', index, 'rateLimit'],
      message: `shares a limit with organizations.${first} but differs in requestsPerMinute: give both the same`,
    }))
}

/** Each organization that has the key of one before it, with the first of these. Only texts are keys. */
function twins(organizations: readonly unknown[], keyOf: (organization: unknown) => unknown): [number, number][] {
  const keys = organizations.map(keyOf)
  return keys.flatMap((key, index): [number, number][] => {
    const first = keys.indexOf(key)
    return typeof key === 'string' && first < index ? [[index, first]] : []
  })
}
