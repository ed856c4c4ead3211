import { expect, test } from 'vitest'
import { EXIT_CODES } from '../src/cli/command.ts'
import { checkData } from '../src/config/mistakes.ts'
import { configJsonSchema } from '../src/config/schema.ts'
import { ERRORS, factsOfCode } from '../src/errors/error-facts.ts'
import { WARNING_MEANINGS } from '../src/model/customer.ts'
import { REASON_MEANINGS } from '../src/model/reasons.ts'
import { reasonWords } from '../src/status/proof-words.ts'
import { everyMetric } from './support/metrics.ts'

const WRITTEN_BY = 'Written by `npx vitest run test/reference.test.ts --update`; do not edit.'

test('docs/reference/settings.md names every setting', async () => {
  const settings = section(
    '# Settings',
    'To look up a setting of the configuration. What stands under `defaults` or `schedule` may stand in an organization too, and holds ' +
      `for that one then. Durations are written as \`500ms\`, \`30s\`, \`15m\`, \`6h\` or \`1d\`, and bounds are included. ${WRITTEN_BY}`,
    ['setting', 'values', 'default', 'meaning'],
    listedSettings().map(({ path, description = '', default: value }) => [
      code(path.filter((step) => step !== '0').join('.')),
      valuesOf(path),
      value === undefined || value === '' ? '' : code(String(value)),
      description,
    ]),
  )
  await expect(`${settings}\n`).toMatchFileSnapshot('../docs/reference/settings.md')
})

test('every setting that may be left out says when to set or to change it', () => {
  const optional = listedSettings().filter(({ isNeeded }) => !isNeeded)
  const silent = optional.filter(({ description = '' }) => !/\b(?:Set|Change|Raise|Lower) /.test(description))

  expect(optional.length).toBeGreaterThan(30)
  expect(silent.map(({ path }) => path.join('.'))).toEqual([])
})

test('docs/reference/codes.md names every exit code, error code, reason, warning and metric', async () => {
  const own = [...(await everyMetric())].filter(([name]) => !/^customer_mirror_(process|nodejs)_/.test(name))
  const parts = [
    `# Codes and metrics\n\nTo look up a word that a command, the log or a metric shows. ${WRITTEN_BY}`,
    section(
      '## Exit codes',
      'How a command ends. What a signal stopped ends with 128 and the number of the signal.',
      ['code', 'meaning'],
      Object.entries(EXIT_CODES),
    ),
    section(
      '## Error codes',
      'Those of runs stand in `runs.error_code`; all of them stand in the log and in JSON, as `code`. *Above* is the message of the error.',
      ['code', 'what it is', 'exit code', 'what to do'],
      errorCodes(),
    ),
    section(
      '## Reasons',
      'Why a scan is not proven: `runs.reasons`, and `reasons` of `--json`. A `proven` run has none but `older-list`. [What a run proves](../explain/proof.md) has the argument.',
      ['reason', 'meaning'],
      // The last are of the run itself, beside those of its scan.
      [...Object.keys(REASON_MEANINGS), 'failed', 'waiting', 'held'].map((each) => [code(each), reasonWords(each)]),
    ),
    section(
      '## Warnings',
      'Odd values that were kept: the keys of `runs.warnings`, and of `warnings` in `runs --json`.',
      ['warning', 'what it counts'],
      Object.entries(WARNING_MEANINGS).map(([kind, meaning]) => [code(kind), meaning]),
    ),
    section(
      '## Metrics',
      'A worker serves them at `/metrics`, and `status --format prometheus` writes those that the mirror knows. A worker also has ' +
        '`customer_mirror_process_…` and `customer_mirror_nodejs_…`, of its process and of Node.js.',
      ['metric', 'type', 'labels', 'meaning'],
      own.map(([name, { type, help, samples }]) => {
        const labels = new Set(samples.flatMap((each) => Object.keys(each.labels).filter((label) => label !== 'le')))
        return [code(name), type, [...labels].map(code).join(', '), help]
      }),
    ),
  ]
  await expect(`${parts.join('\n\n')}\n`).toMatchFileSnapshot('../docs/reference/codes.md')
})

type Setting = {
  description?: string
  default?: string | number | boolean
  properties?: Record<string, Setting>
  required?: string[]
  items?: Setting
  anyOf?: Setting[]
}

/** Each setting once: what an organization may set like all others stands under these. */
function listedSettings(): Row[] {
  const rows = settingsIn(JSON.parse(JSON.stringify(configJsonSchema())), [])
  return rows.filter(({ path }) => path[0] !== 'organizations' || !rows.some((other) => isSame(path, other.path)))
}

type Row = Setting & { path: string[]; isNeeded: boolean }

function settingsIn(node: Setting, path: string[], isNeeded = false): Row[] {
  // Two ways to write one setting: a secret is in a variable or in a file.
  if (node.properties?.['env'] ?? node.anyOf?.[1]?.properties?.['env']) return [{ ...node, path, isNeeded }]
  const forms = [node, ...(node.anyOf ?? [])]
  const below = forms.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).flatMap(([name, each]) => settingsIn(each, [...path, name], required.includes(name))),
  )
  if (below.length > 0) return below
  return node.items?.properties === undefined ? [{ ...node, path, isNeeded }] : settingsIn(node.items, [...path, '0'])
}

/** Whether it is the same setting, under `defaults` or at the top level. */
function isSame([, , ...own]: string[], [first, ...shared]: string[]): boolean {
  return own.join() === (first === 'defaults' ? shared : [first, ...shared]).join()
}

/** Which values there are, as the program says where it does not take one. */
function valuesOf(path: string[]): string {
  const messages = ['999999999999d', Symbol('neither')].flatMap((value) => {
    const { mistakes } = checkData(dataWith(path, value))
    return mistakes.filter((mistake) => mistake.path.join() === path.join()).map(({ message }) => message)
  })
  const [, oneOf, only, range] = messages.map((message) => VALUES.exec(message)).find((match) => match !== null) ?? []
  const values = oneOf ?? only
  return values === undefined ? (range ?? '') : values.split(', ').map(code).join(', ')
}

const VALUES =
  /^must be (?:one of (.*?)(?: \(.*)?|(\S+), or left out|((?:a duration from|a whole|a number|a share|auto).*))$/

function dataWith([name = '', ...rest]: string[], value: unknown): unknown {
  const inner = rest.length === 0 ? value : dataWith(rest, value)
  return name === '0' ? [inner] : { [name]: inner }
}

/** Those that are alike in one row. */
function errorCodes(): string[][] {
  const rowsOf = (each: string) => {
    const { title, exitCode, fix } = factsOfCode(each)
    return [title, String(exitCode), fix]
  }
  const alike = Map.groupBy(Object.keys(ERRORS), (each) => JSON.stringify(rowsOf(each)))
  return [...alike.values()].map((codes) => [codes.map(code).join(', '), ...rowsOf(codes[0] ?? '')])
}

function section(heading: string, text: string, head: string[], rows: readonly string[][]): string {
  const lines = [
    head,
    head.map(() => '---'),
    ...rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;'))),
  ]
  return [heading, '', text, '', ...lines.map((row) => `| ${row.join(' | ')} |`)].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}
