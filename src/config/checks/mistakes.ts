import { z } from 'zod'
import type { Part } from '../file/document.ts'
import { configFile } from '../schema.ts'
import { didYouMean, nearest } from './suggestion.ts'

/** One mistake in the data of a configuration, not yet placed in its text. No message repeats a value. */
export type Mistake = { path: readonly PropertyKey[]; part: Part; message: string }

type Issue = z.core.$ZodIssue

/** The data as parsed by the schema, or every mistake that the schema finds. */
export function checkShape(data: unknown): { file: z.output<typeof configFile> } | { mistakes: Mistake[] } {
  const result = configFile.safeParse(data, { error: wording })
  return result.success ? { file: result.data } : { mistakes: mistakesOf(result.error.issues, []) }
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
  if (issue.code !== 'invalid_union') return [{ path, part: 'value', message: issue.message }]
  const meant = issue.errors.find(
    (errors) => !errors.some((error) => error.code === 'invalid_type' && error.path.length === 0),
  )
  return meant === undefined ? [{ path, part: 'value', message: issue.message }] : mistakesOf(meant, path)
}

const SECRET_FORM = 'must be { env: NAME } or { file: path }'

function unknownKeys(path: readonly PropertyKey[], keys: readonly string[]): Mistake[] {
  const known = keysAt(configFile, path)
  // `apiKey: {abc}` and `apiKey: {abc: }` make the value a key, so a key is not repeated here.
  if (known.includes('env')) return [{ path, part: 'value', message: `holds an unknown key: it ${SECRET_FORM}` }]
  return keys.map((key) => ({ path: [...path, key], part: 'key', message: unknownKey(key, path, known) }))
}

function unknownKey(key: string, path: readonly PropertyKey[], known: readonly string[]): string {
  if (key === '<<') return 'unknown key: merge keys are not supported, put shared settings under defaults'
  const meant = nearest(key, known)
  if (meant !== undefined) return `unknown key (did you mean "${meant}"?)`
  return elsewhere(key, path) ?? `unknown key (known are ${known.join(', ')})`
}

/** The message for a known key in the wrong place. */
function elsewhere(key: string, path: readonly PropertyKey[]): string | undefined {
  const home = HOMES.find(({ at }) => nearest(key, keysAt(configFile, at)) !== undefined && at.length !== path.length)
  const name = home && nearest(key, keysAt(configFile, home.at))
  return home && (name === key ? `belongs ${home.called}` : `unknown key (did you mean "${name}", ${home.called}?)`)
}

const HOMES = [
  { at: [], called: 'at the top level' },
  { at: ['defaults'], called: 'under defaults or in an organization' },
  { at: ['organizations', 0], called: 'in an organization' },
]

/** The keys the schema knows at a path. */
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
  const [only, ...others] = values
  if (others.length === 0) return `must be ${only}, or left out`
  return `must be one of ${values.join(', ')}${typeof written === 'string' ? didYouMean(written, values) : ''}`
}
