import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { syncCommand } from '../src/cli/sync.ts'
import { readConfig } from '../src/config/read-config.ts'
import { SCENARIOS } from '../src/service/scenarios/scenarios.ts'
import { anchorsIn, blocksIn, LINKED_PAGES, PAGES } from './support/documents.ts'
import { rowsOf } from './support/mirror-file.ts'
import { runCli } from './support/run-cli.ts'
import { runCommand } from './support/run-command.ts'
import { temporaryFolder } from './support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from './support/workplace.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const PACKAGE = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')))

/** What is tried out from every example of these pages. */
const COMMANDS = PAGES.flatMap((page) =>
  commandsIn([...blocksIn(page, 'sh', 'crontab', 'ini').map(({ text }) => text), ...inline(page.text)]),
)
const SHOWN = [...new Set(COMMANDS)].map((line) => line.split(/\s+/))

test('what it is, the two commands and the first SQL fit on one screen', () => {
  const [screen = ''] = README.split(/^## Your own service$/m)
  const lines = screen.trimEnd().split('\n')

  for (const part of ['npm run demo', 'npm test', 'SELECT ']) expect(screen).toContain(part)
  expect(lines.length).toBeLessThanOrEqual(50)
  expect(lines.filter((line) => line.length > 100)).toEqual([])
})

test('the README is read in minutes: at most 12,000 bytes, and no sentence over 25 words', () => {
  const prose = README.replaceAll(/^ *```.*?^ *```/gms, '')
  const sentences = prose.split(/(?<=[.!?:])\s+|\n\n|\n- |\|/)

  expect(Buffer.byteLength(README)).toBeLessThanOrEqual(12_000)
  expect(sentences.filter((sentence) => sentence.trim().split(/\s+/).length > 25)).toEqual([])
})

test('the README has an example of everything it is tested for', () => {
  expect(COMMANDS.length).toBeGreaterThan(10)
  expect(fenced('sql').length).toBeGreaterThanOrEqual(3)
  expect(fenced('yaml').length).toBeGreaterThanOrEqual(1)
})

test('every npm script that the README and its pages name is there', () => {
  const named = PAGES.flatMap(({ text }) =>
    [...text.matchAll(/\bnpm\s(?:run\s([\w:-]+)|(test|start)\b)/g)].map(([, run, short]) => run ?? short ?? ''),
  )

  expect(named).toEqual(expect.arrayContaining(['demo', 'test', 'scoreboard', 'bench']))
  expect(named.filter((script) => PACKAGE.scripts[script] === undefined)).toEqual([])
})

describe('the commands', () => {
  test.each(SHOWN.map((words) => [words.join(' '), words] as const))(
    'customer-mirror %s is a command with those options',
    async (_, words) => {
      const helps = await everyHelp()
      const path = [words.slice(0, 2).join(' '), words[0] ?? ''].find((name) => helps.has(name))
      const help = helps.get(path ?? '') ?? ''

      expect([...helps.keys()], words.join(' ')).toContain(path)
      const options = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/=.*/s, ''))
      for (const option of options) expect(help).toMatch(new RegExp(`^ +(-\\w, )?${option}\\b`, 'm'))
    },
  )

  test('every command that --help lists is shown on a page', async () => {
    const helps = await everyHelp()
    const missing = [...helps.keys()]
      .filter((name) => !name.includes(' '))
      .filter((name) => !PAGES.some(({ text }) => text.includes(`customer-mirror ${name}`)))

    expect(helps.size).toBeGreaterThanOrEqual(16)
    expect(missing).toEqual([])
  })
})

test('every query runs against a mirror, and those about the present find something', async () => {
  const { config, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [120, 7, 3] })))
  await runCommand(syncCommand, ['--config', config])
  const found = fenced('sql').map((sql) => [/FROM (\w+)/.exec(sql)?.[1], rowsOf(mirror, sql.trim()).length > 0])

  expect(Object.fromEntries(found)).toMatchObject({ active_customers: true, freshness: true })
})

test('every environment variable of ours that the configuration is read from is on a page', () => {
  const folder = new URL('../src/config/', import.meta.url)
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const sources = names.map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const variables = [...new Set(sources.join('').match(/\bCUSTOMER_MIRROR_[A-Z_]+/g))]

  expect(variables).toContain('CUSTOMER_MIRROR_QUEUE')
  const isNamed = (name: string) => PAGES.some(({ text }) => text.includes(`\`${name}\``))
  expect(variables.filter((name) => !isNamed(name))).toEqual([])
})

test.each(PAGES.flatMap((page) => blocksIn(page, 'yaml')).map((block) => [block.page, block.heading, block.text]))(
  'the YAML in %s, %s, is well formed, and a valid configuration if it is for this program',
  async (_page, _heading, text) => {
    const folder = temporaryFolder()
    const file = join(folder, 'customer-mirror.yaml')
    const given = parse(text)
    const isOurs = !Array.isArray(given) && given.kind === undefined
    writeFileSync(file, isOurs ? stringify({ ...ORGANIZATION, ...given }) : stringify(ORGANIZATION))
    const config = await readConfig({ file, cwd: folder, environment: {} })

    expect(config.organizations.length).toBeGreaterThan(0)
  },
)

const ORGANIZATION = {
  organizations: [
    { id: 'acme', baseUrl: 'https://acme.example.com', apiKey: { env: 'KEY' }, secret: { env: 'SECRET' } },
  ],
}

test('the README counts scenarios as the scoreboard does', () => {
  const { text = '' } = PAGES.find(({ name }) => name === 'docs/explain/proof.md') ?? {}
  const rows = text.split('\n').flatMap((line) => (/^\| `[\w-]+` \| [\d,]+ \|/.test(line) ? [cellsOf(line)] : []))
  const numberIn = (cell = ''): number => Number(cell.replaceAll(',', ''))
  const fooled = rows.filter(
    ([, , lost, removed, , said]) => numberIn(lost) + numberIn(removed) > 0 && said === 'success',
  )

  expect(rows.map(([name]) => name?.replaceAll('`', ''))).toEqual(SCENARIOS.map(({ name }) => name))
  expect(rows.every((cells) => numberIn(cells[6]) + numberIn(cells[7]) === 0)).toBe(true)
  for (const page of [README, text])
    expect(page).toMatch(new RegExp(`\\b${fooled.length}\\s+of\\s+${rows.length}\\s+scenarios`))
})

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

test('every page and heading that a document links is there', () => {
  const links = LINKED_PAGES.flatMap(({ file, text }) =>
    [...text.matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)].map(([, path = '', heading]) => ({
      target: path === '' ? file : new URL(path, file),
      heading,
    })),
  )
  const isThere = ({ target, heading }: (typeof links)[number]) =>
    existsSync(target) && (heading === undefined || anchorsIn(readFileSync(target, 'utf8')).includes(heading))

  expect(links.length).toBeGreaterThan(10)
  expect(links.filter((link) => !isThere(link))).toEqual([])
})

/** The contents of the blocks of the README in this language. */
function fenced(language: string): string[] {
  return PAGES.slice(0, 1).flatMap((page) => blocksIn(page, language).map(({ text }) => text))
}

/** What is set as code within a sentence. */
function inline(page: string): string[] {
  return [...page.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
}

/** The calls of the program in shell text, each as what comes after its name. */
function commandsIn(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.replaceAll(/\\\n\s*/g, ' ').split('\n'))
    .flatMap((line) => line.replace(/(^|\s)#.*/, '').split(/&&|\|\|?|;|>>?/))
    .flatMap((call) => {
      const [, rest = ''] = /(?:^|\s)(?:npx |\S*\/)?customer-mirror(?:\.mjs)?\s+([a-z].*)$/.exec(call.trim()) ?? []
      return rest === '' ? [] : [rest.trim()]
    })
}

/** The help of every command by its name, asked for once. */
function everyHelp(): Promise<Map<string, string>> {
  return (helpsRead ??= readHelps())
}
let helpsRead: Promise<Map<string, string>> | undefined

async function readHelps(): Promise<Map<string, string>> {
  const helps = new Map<string, string>()
  for (const name of namesIn(await helpOf([]))) {
    const help = await helpOf([name])
    helps.set(name, help)
    for (const inner of namesIn(help)) helps.set(`${name} ${inner}`, await helpOf([name, inner]))
  }
  return helps
}

async function helpOf(path: readonly string[]): Promise<string> {
  return (await runCli([...path, '--help'], { cwd: import.meta.dirname })).stdout
}

function namesIn(help: string): string[] {
  const [, commands = ''] = /\n(?:Commands|Start):\n(.*?)\n\n/s.exec(help) ?? []
  return [...commands.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
}
