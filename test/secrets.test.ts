import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { customerId } from './support/builders.ts'
import { bytes, html, list, refusal, type Reply } from './support/fault-server.ts'
import { someOf } from './support/seeds.ts'
import { aFaultServer, aWorkplace, organizationAt } from './support/workplace.ts'

const KEY = 'unmistakable.key/5150'
const SECRET = 'unmistakable secret 2112 +='
const env = { ACME_API_KEY: KEY, ACME_SECRET: SECRET }
const PEOPLE = ['Unmistakable Fictional', 'unmistakable.fictional@example.com', '+1-555-0100-unmistakable']

/** Repeats the whole request, like a service in debug mode. */
const ECHO =
  (status: number): Reply =>
  (response, request) => {
    const told = JSON.stringify(request.headers)
    const message = `Key ${KEY}, signature ${signatureOf(request)}, secret ${SECRET}. ${told}`
    const headers = { 'X-Debug': signatureOf(request), 'Retry-After': '3600' }
    return refusal(status, `key_${KEY}`, message, headers)(response, request)
  }

const ECHOING_REDIRECT: Reply = (response, request) => {
  const query = new URLSearchParams({ key: KEY, secret: SECRET, signature: signatureOf(request) })
  const Location = `https://login.example.com/${encodeURIComponent(KEY)}?${query.toString()}`
  return bytes(302, '', { Location })(response, request)
}

const ECHOING_GARBAGE: Reply = (response, request) => {
  response.writeHead(200, { 'Content-Type': 'text/html' })
  response.end(`<h1>${KEY}</h1>${SECRET} ${signatureOf(request)} ${JSON.stringify(request.headers)}`)
}

const A_PERSON = { id: customerId(1), name: PEOPLE[0], email: PEOPLE[1], phone: PEOPLE[2] }
const PERSONS = list(2, { envelope: { data: [A_PERSON, { ...A_PERSON, id: 'no UUID' }] } })

test.each(
  someOf<[what: string, code: number, replies: [Reply, ...Reply[]]]>([
    ['a run that completes', 0, [PERSONS]],
    ['401', 4, [ECHO(401)]],
    ['422', 4, [ECHO(422)]],
    ['429', 5, [ECHO(429)]],
    ['500', 5, [ECHO(500)]],
    ['a redirect', 3, [ECHOING_REDIRECT]],
    ['garbage', 3, [ECHOING_GARBAGE]],
    ['an HTML refusal', 4, [html(403)]],
    ['a page that fails after one that came', 3, [list(250), ECHOING_GARBAGE]],
  ]),
)('%s puts no key, secret or signature anywhere, and shows no customer', async (_, code, replies) => {
  const server = await aFaultServer(...replies)
  const defaults = { maxWait: '0s', concurrency: 1 }
  const { folder, mirror, run } = aWorkplace([anOrganization(server)], { defaults })
  const synced = await run('sync --json', { env })
  const ended = [synced]
  for (const line of ['sync', 'sync --dry-run', 'check']) ended.push(await run(line, { env }))
  const said = ended.map(({ stdout, stderr }) => stdout + stderr)
  expect(found(PEOPLE, said)).toEqual([])
  for (const line of ['runs', 'runs --json', 'rejects', 'status']) {
    const { stdout, stderr } = await run(line)
    said.push(stdout, stderr)
  }

  expect(synced.code).toBe(code)
  expect(server.requests.map((request) => request.headers['x-api-key'])).toEqual(server.requests.map(() => KEY))
  const secrets = [KEY, SECRET, encodeURIComponent(KEY), ...server.requests.map(signatureOf)]
  expect(secrets.every((secret) => secret.length > 10)).toBe(true)
  expect(existsSync(mirror)).toBe(true)
  expect(found(secrets, said)).toEqual([])
  expect(found(secrets, filesIn(folder))).toEqual([])
})

test('a mirror that is being written holds no key, secret or signature either, nor does its journal', async () => {
  const journals: string[] = []
  const server = await aFaultServer(list(250), (response, request) => {
    journals.push(...filesIn(place.folder))
    return list(250)(response, request)
  })
  const place = aWorkplace([anOrganization(server)], { defaults: { concurrency: 1 } })
  await place.run('sync', { env })

  // Two of them at least: the configuration, and the journal with the page that came first.
  expect(journals.some((text) => text.includes('customer1@example.com'))).toBe(true)
  expect(found([KEY, SECRET, ...server.requests.map(signatureOf)], journals)).toEqual([])
})

function anOrganization(server: { baseUrl: URL }) {
  return organizationAt(server, { apiKey: { env: 'ACME_API_KEY' }, secret: { env: 'ACME_SECRET' } })
}

function signatureOf({ headers }: Pick<Parameters<Reply>[1], 'headers'>): string {
  return String(headers['x-signature'])
}

/** Those of `needles` that are in any of the texts. */
function found(needles: readonly string[], texts: readonly string[]): string[] {
  return needles.filter((needle) => texts.some((text) => text.includes(needle)))
}

/** The bytes of every file below a folder, as text in which ASCII and UTF-8 can be found. */
function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
}
