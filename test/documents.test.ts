import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { loadCommands } from '../src/cli/program.ts'
import { readConfig } from '../src/config/read-config.ts'
import { SCENARIOS } from '../src/service/scenarios/scenarios.ts'
import { blocksIn, commandsIn, isMarkedUnrun, LINKED_PAGES, PAGES, RUN_HERE } from './support/documents.ts'
import { DOCUMENTED_COMMANDS } from './support/json-page.ts'
import { rowsOf, temporaryFolder } from './support/mirror-file.ts'
import { anAwayOrganization, aSandbox, aWorkplace, organizationsOf } from './support/workplace.ts'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const README = read('README.md')
const SCRIPTS: Record<string, string> = JSON.parse(read('package.json')).scripts
const BLOCKS = PAGES.filter(({ name }) => name !== 'docs/read/recipes.md').flatMap((page) => blocksIn(page))

const COMMANDS = PAGES.flatMap((page) =>
  callsIn([...blocksIn(page, 'sh', 'crontab', 'ini').map(({ text }) => text), ...inline(page.text)]),
)
const SHOWN = [...new Set(COMMANDS)].map((line) => line.split(/\s+/))

test('what it is, the two commands and the first SQL fit on one screen of the README, which is read in minutes', () => {
  const [screen = ''] = README.split(/^## Your own service$/m)
  const lines = screen.trimEnd().split('\n')
  const sentences = README.replaceAll(/^ *```.*?^ *```/gms, '').split(/(?<=[.!?:])\s+|\n\n|\n- |\|/)

  for (const part of ['npm run demo', 'npm test', 'SELECT ']) expect(screen).toContain(part)
  expect(lines.length).toBeLessThanOrEqual(50)
  expect(lines.filter((line) => line.length > 100)).toEqual([])
  expect(Buffer.byteLength(README)).toBeLessThanOrEqual(12_000)
  expect(sentences.filter((sentence) => sentence.trim().split(/\s+/).length > 25)).toEqual([])
})

test('every npm script that a document names is there', () => {
  const named = LINKED_PAGES.flatMap(({ text }) =>
    [...text.matchAll(/\bnpm\s(?:run\s([\w:-]+)|(test|start)\b)/g)].map(([, run, short]) => run ?? short ?? ''),
  )

  expect(named).toEqual(expect.arrayContaining(['demo', 'test', 'scoreboard', 'bench']))
  expect(named.filter((script) => !Object.hasOwn(SCRIPTS, script))).toEqual([])
})

test('each command that a page shows is one, with those options; each is shown; and docs/reference/json.md describes those with --json', async () => {
  const commands = await optionsOfCommands()
  const wrong = SHOWN.filter((words) => {
    const known = commands.get(words.slice(0, 2).join(' ')) ?? commands.get(words[0] ?? '')
    const options = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/=.*/s, ''))
    return known === undefined || options.some((option) => !known.includes(option))
  })
  const names = [...commands.keys()].filter((name) => !name.includes(' '))
  const withJson = [...commands].flatMap(([name, options]) => (options.includes('--json') ? [name] : []))

  expect(SHOWN.length).toBeGreaterThan(40)
  expect(wrong).toEqual([])
  expect(names.length).toBeGreaterThanOrEqual(16)
  expect(names.filter((name) => !PAGES.some(({ text }) => text.includes(`customer-mirror ${name}`)))).toEqual([])
  // What each prints is compared with the page wherever a test runs one: `requireDocumented`.
  expect(DOCUMENTED_COMMANDS.toSorted()).toEqual(withJson.toSorted())
})

test('every query of the README runs against a mirror, and those about the present, and its search, find something', async () => {
  const { run, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [300, 7, 3] })))
  await run('sync')
  const found = PAGES.slice(0, 1)
    .flatMap((page) => blocksIn(page, 'sql'))
    .map(({ text }) => [/FROM (\w+)/.exec(text)?.[1], rowsOf(mirror, text.trim()).length > 0])
  const [, search = ''] = /query --search (\w+)/.exec(README) ?? []
  const { stdout } = await run(`query --search ${search}`)

  expect(Object.fromEntries(found)).toMatchObject({ active_customers: true, freshness: true })
  expect(stdout).toMatch(/^acme +[\w-]{36} /m)
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

const YAML = PAGES.flatMap((page) => blocksIn(page, 'yaml')).map((block) => [block.page, block.heading, block.text])

test.each(YAML)('the YAML in %s, %s, is valid, as a configuration if it is for us', async (_, _of, text) => {
  const folder = temporaryFolder()
  const file = join(folder, 'customer-mirror.yaml')
  const given = parse(text)
  const isOurs = !Array.isArray(given) && given.kind === undefined
  writeFileSync(file, stringify({ organizations: [anAwayOrganization()], ...(isOurs && given) }))
  const config = await readConfig({ file, cwd: folder, environment: {} })

  expect(config.organizations.length).toBeGreaterThan(0)
})

test('the README counts scenarios as the scoreboard does', () => {
  const { text = '' } = PAGES.find(({ name }) => name === 'docs/explain/proof.md') ?? {}
  const fooled = [...text.matchAll(/^\| `([\w-]+)` \| [\d,]+ \|/gm)].map(([, name]) => name)
  const others = /^In the others .*$/m.exec(text)?.[0] ?? ''
  const named = [...fooled, ...[...others.matchAll(/`([\w-]+)`/g)].map(([, name]) => name)]

  expect(named).toHaveLength(SCENARIOS.length)
  expect(new Set(named)).toEqual(new Set(SCENARIOS.map(({ name }) => name)))
  for (const page of [README, text])
    expect(page).toMatch(new RegExp(`\\b${fooled.length}\\s+of\\s+${named.length}\\s+scenarios`))
})

test('every page and heading that a document links is there, and every file and folder that CONTRIBUTING names', () => {
  const links = LINKED_PAGES.flatMap(({ file, text }) =>
    [...text.matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)].map(([, path = '', heading]) => ({
      target: path === '' ? file : new URL(path, file),
      heading,
    })),
  )
  const isThere = ({ target, heading }: (typeof links)[number]) =>
    existsSync(target) && (heading === undefined || anchorsIn(readFileSync(target, 'utf8')).includes(heading))

  const paths = [...read('CONTRIBUTING.md').matchAll(/\b(?:src|jobs|test|docs)\/[\w./-]*\w\/?/g)].map(([path]) => path)

  expect(links.length).toBeGreaterThan(10)
  expect(paths.length).toBeGreaterThan(8)
  expect(links.filter((link) => !isThere(link))).toEqual([])
  expect(paths.filter((path) => !existsSync(new URL(`../${path}`, import.meta.url)))).toEqual([])
})

test('package, lock file, changelog and README name the same version', () => {
  const { version }: { version: string } = JSON.parse(read('package.json'))
  const lock: { version: string; packages: { '': { version: string } } } = JSON.parse(read('package-lock.json'))

  expect([lock.version, lock.packages[''].version]).toEqual([version, version])
  expect(/^## (.*)$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
  const tarballs = [...read('README.md').matchAll(/customer-mirror-cli-(.*?)\.tgz/g)].map(([, named]) => named)
  expect(new Set(tarballs)).toEqual(new Set([version]))
})

test('every block is of a kind that a test knows; every command is run here, or elsewhere, where it can be seen, or its page says that it is not', () => {
  const kinds = new Set(BLOCKS.map(({ language }) => language))
  const commands = BLOCKS.flatMap(commandsIn)
  const isKnown = (command: string) => isMarkedUnrun(command) || isRunElsewhere(command) || RUN_HERE.test(command)

  expect([...kinds].toSorted()).toEqual(['crontab', 'duckdb', 'ini', 'js', 'json', 'sh', 'sql', 'text', 'yaml'])
  expect(commands.length).toBeGreaterThan(40)
  expect(commands.filter((command) => !isKnown(command))).toEqual([])
  for (const [command, file, evidence] of RUN_ELSEWHERE) expect(read(file), command).toMatch(evidence)
})

function isRunElsewhere(command: string): boolean {
  const bare = command.replace(/\s+#.*/s, '')
  const isKnown = (part: string) => RUN_ELSEWHERE.some(([known]) => part === known || part.startsWith(`${known} ./`))
  return bare.split(' && ').every((part) => isKnown(part.trim()))
}

test('each key of docs/reference/json.md has a meaning, and each heading that a value names is there', () => {
  const page = read('docs/reference/json.md')
  const rows = page.split('\n').filter((line) => line.startsWith('- '))
  const headings = new Set([...page.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading))
  const named = [...page.matchAll(/\[([^\]]+)\]\(#[\w-]+\)/g)].map(([, name = '']) => name)

  expect(rows.filter((row) => !/^- `\w+`(, `\w+`)*( \(.+?\))?: \S/.test(row))).toEqual([])
  expect(named.filter((name) => !headings.has(name))).toEqual([])
})

/** What is set as code within a sentence. */
function inline(page: string): string[] {
  return [...page.replaceAll(/^ *```.*?^ *```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
}

/** The calls of the program in shell text, each as what comes after its name. */
function callsIn(texts: readonly string[]): string[] {
  return texts
    .flatMap((text) => text.replaceAll(/\\\n\s*/g, ' ').split('\n'))
    .flatMap((line) => line.replace(/(^|\s)#.*/, '').split(/&&|\|\|?|;|>>?/))
    .flatMap((call) => {
      const [, rest = ''] = /(?:^|\s)(?:npx |\S*\/)?customer-mirror(?:\.mjs)?\s+([a-z].*)$/.exec(call.trim()) ?? []
      return rest === '' ? [] : [rest.trim()]
    })
}

async function optionsOfCommands(): Promise<Map<string, (string | undefined)[]>> {
  const { stdout, stderr } = process
  const io = { signal: new AbortController().signal, stdout, stderr, exitWith: () => {} }
  const commands = (await loadCommands(undefined, io)).flatMap((command) => [
    { name: command.name(), options: command.options },
    ...command.commands.map((each) => ({ name: `${command.name()} ${each.name()}`, options: each.options })),
  ])
  const optionsOf = ({ options }: (typeof commands)[number]) => options.flatMap(({ long, short }) => [long, short])
  return new Map(commands.map((command) => [command.name, ['--help', ...optionsOf(command)]]))
}

/** Commands that are run elsewhere: by what, and where to see it. */
const RUN_ELSEWHERE: readonly (readonly [command: string, file: string, evidence: RegExp])[] = [
  ['npm ci', '.ci/run', /^step npm ci\b/m],
  ['npm run demo', '.ci/run', /^step npm run demo\b/m],
  ['npm test', '.ci/run', /^step .*npm run test:deep\b/m],
  ['npm run bench -- --quick', '.ci/run', /^step npm run bench -- --quick$/m],
  ['npm pack', 'test/support/package-checkout.ts', /npm\(checkout, 'pack'/],
  ['npm install --global --ignore-scripts', 'test/package.deep.test.ts', /'install', '--global', .*'--ignore-scripts'/],
]

function anchorsIn(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\d _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}
