import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { acme, globex, mistakesIn } from './configuration-folder.ts'

/** The configuration with what is written, for each heading of mistakes.md. */
const TEXTS: Readonly<Record<string, (written: string) => string>> = {
  'In the whole file': (written) => written,
  // A mistake under defaults is reported once, however many organizations inherit it.
  'At the top': (written) => `${written}\n${acme()}${globex()}`,
  'In the organization': (written) => acme(written),
  'As baseUrl': (written) => acme().replace('https://acme.example.com/api/v1', written),
  'As secret': (written) => acme().replace('{ env: ACME_SECRET }', () => written),
}

// A line that is added to the page gets what is said of it by --update.
test('every mistake of mistakes.md is reported where it stands, with what to do, and no secret is repeated', async () => {
  const lines: string[] = []
  let textOf = acme
  for (const line of readFileSync(new URL('mistakes.md', import.meta.url), 'utf8').split('\n')) {
    const [, heading] = /^## (.*)$/.exec(line) ?? []
    const [, written] = /^- `(.*?)`:/.exec(line) ?? []
    if (heading !== undefined) textOf = TEXTS[heading] ?? textOf
    if (written === undefined) lines.push(line)
    else {
      const said = (await mistakesIn(textOf(JSON.parse(`"${written}"`)))).join('; ')
      expect(said).not.toContain('hunter2')
      lines.push(`- \`${written}\`: ${said.replaceAll(/customer-mirror.yaml:?/g, '')}`)
    }
  }
  await expect(lines.join('\n')).toMatchFileSnapshot('mistakes.md')
})

test('every mistake in the file is reported at once, in the order of the file', async () => {
  const text = `mirror: 3
pageSize: 50
defaults: { scan: fast }
organizations:
  - id: Acme
    baseUrl: https://acme.example.com
    apiKey: { env: ACME_KEY }
  - id: globex
    baseUrl: https://globex.example.com/api/v1
    apiKey: { env: GLOBEX_KEY }
    secret: { env: GLOBEX }
  - id: globex
    baseUrl: https://globex.example.com/api/v1/
    apiKey: { env: GLOBEX_KEY }
    secret: { env: $GLOBEX }
`
  const places = (await mistakesIn(text)).map((line) => /^customer-mirror\.yaml:(.*?): /.exec(line)?.[1])
  expect(places).toEqual([
    ...['1:9 mirror', '2:1 pageSize', '3:19 defaults.scan', '5:5 organizations.0.secret', '5:9 organizations.0.id'],
    ...['12:9 organizations.2.id', '13:14 organizations.2.baseUrl', '15:20 organizations.2.secret.env'],
  ])
})

test('mistakes in a JSON file have a line and a column too', async () => {
  const written = { id: 'acme', baseUrl: 'https://acme.example.com', apiKey: 7 }
  const json = JSON.stringify({ organizations: [written] }, null, '\t')
  expect(await mistakesIn(json, 'customer-mirror.json')).toEqual([
    'customer-mirror.json:3:3 organizations.0.secret: is missing: it must be { env: NAME } or { file: path }',
    'customer-mirror.json:6:14 organizations.0.apiKey: must be { env: NAME } or { file: path }',
  ])
})

test('organizations that share a limit must agree on it', async () => {
  const limit = (perMinute: number) => `rateLimit: { shared: all, requestsPerMinute: ${perMinute} }`
  expect(await mistakesIn(acme(limit(60)) + globex(limit(30)))).toEqual([
    'customer-mirror.yaml:11:16 organizations.1.rateLimit: shares a limit with organizations.0 but differs in requestsPerMinute: give both the same',
  ])
})
