import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { env as ours, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../src/signing/signing.ts'
import { type Block, blocksIn, commandsIn, isMarkedUnrun, PAGES, RUN_HERE } from './support/documents.ts'
import { aQueue, FAR_AWAY, isEmbedded, prepareQueue } from './support/jobs-workplace.ts'
import { rowsOf, temporaryFolder } from './support/mirror-file.ts'
import { LAUNCHER, runCli, startCli } from './support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf, type Written } from './support/workplace.ts'

/** Without those that are run by tests of their own: test/handing-on. */
const BLOCKS = PAGES.filter(({ name }) => name !== 'docs/read/recipes.md').flatMap((page) => blocksIn(page))
const TO_RUN = BLOCKS.filter((block) => commandsToRun(block).length > 0)
const PAGES_TO_RUN = Map.groupBy(TO_RUN, ({ page }) => page)

test.each([...PAGES_TO_RUN])('the commands of %s work for a reader who runs them in their order', async (_, blocks) => {
  const machine = await aDocumentedMachine()
  for (const block of blocks) {
    // Who follows the README writes a configuration in a folder of their own; the other commands use the one that is filled in.
    const { empty = [], others = [] } = Object.groupBy(commandsToRun(block), (command) =>
      command.startsWith('customer-mirror init') ? 'empty' : 'others',
    )
    for (const [commands, folder] of [[empty, 'empty'] as const, [others, folderOf(block)] as const]) {
      const shown = []
      for (const part of partsOf(commands)) {
        if (isOnAnotherPage(part)) continue
        const { code, stdout, stderr } = await machine.run(part, folder)
        expect(code, `${block.heading}:\n${part.join('\n')}\n${stderr}`).toBe(0)
        shown.push(stdout)
      }
      if (folder !== 'empty') expect(shown.join('').replaceAll(/ +$/gm, '')).toContain(shownAfter(block))
    }
  }
})

/** A worker with an embedded queue takes seconds to start, and is the same one on each page. */
function isOnAnotherPage([command = '']: readonly string[]): boolean {
  const name = /^customer-mirror worker\b.*?(?=\s+#|$)/.exec(command)?.[0]
  return name !== undefined && STARTED.size === STARTED.add(name).size
}

const STARTED = new Set<string>()

/** What is run together: each command that needs no shell by itself, unless others of its block change the folder or a variable. */
function partsOf(commands: readonly string[]): string[][] {
  if (commands.some((command) => !/customer-mirror /.test(command) || command.startsWith('cd '))) return [[...commands]]
  return commands.map((command) => [command])
}

/** The arguments of a command of this program alone that ends by itself; undefined for what a shell has to read or a reader has to stop. */
function argumentsOf(command: string): string[] | undefined {
  const [, bare = ''] = /^customer-mirror (?!sandbox |worker )(.*?)(?: +#.*)?$/.exec(command) ?? []
  const words = bare.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', ''))
  return /\$/.test(bare) || words?.some((word) => /^[|>&]/.test(word)) ? undefined : words
}

function commandsToRun(block: Block): string[] {
  // An embedded queue cannot be reached from another process.
  const isOutOfReach = (command: string) => isEmbedded && /^customer-mirror (run|cancel)\b/.test(command)
  const isToRun = (command: string) => RUN_HERE.test(command) && !isMarkedUnrun(command) && !isOutOfReach(command)
  return commandsIn(block).filter(isToRun)
}

function shownAfter(block: Block): string {
  const next = BLOCKS[BLOCKS.findIndex(({ page, text }) => page === block.page && text === block.text) + 1]
  return next?.language === 'text' ? next.text.trim() : ''
}

function folderOf({ heading, text }: Block): Folder {
  if (/\bnpm start\b/.test(text)) return 'checkout'
  return heading === 'Copies for readers' ? 'copies' : 'home'
}

test('every query runs, on the mirror or on the copy for readers; the documented backup is complete, and private whatever the umask is', async () => {
  const { mirror, copy, run } = await aDocumentedMachine()
  const queries = BLOCKS.filter(({ language }) => language === 'sql').map((block) => block.text)
  expect(queries.length).toBeGreaterThan(3)
  for (const sql of queries)
    for (const file of /\bmanifest\b/.test(sql) ? [copy] : [mirror, copy])
      expect(() => rowsOf(file, sql.trim()), sql).not.toThrow()

  const block = BLOCKS.find(({ heading, text }) => heading === 'Backups' && text.startsWith('backup='))
  const { stdout } = await run(['umask 022', block?.text ?? '', 'echo "$backup"'], 'home')
  const [check, backup = ''] = stdout.trim().split('\n')
  expect(check).toBe('ok')
  expect(statSync(backup).mode & 0o777).toBe(0o600)
  for (const table of ['customers', 'runs'])
    expect(rowsOf(backup, `SELECT * FROM ${table}`)).toEqual(rowsOf(mirror, `SELECT * FROM ${table}`))
})

test('each example of publishing, used as it stands, makes copies that those it names may read', async () => {
  const { config, folder, run } = aWorkplace(organizationsOf(await aSandbox({ customers: [30] })))
  const group = execFileSync('id', ['--group', '--name'], { encoding: 'utf8' }).trim()
  const examples = BLOCKS.filter(({ page, language }) => page === 'docs/operate/copies.md' && language === 'yaml')
  const settings = readFileSync(config, 'utf8')
  for (const [number, { text }] of examples.entries()) {
    const copies = join(folder, `copies-${number}`)
    const here = text.replaceAll('/srv/copies', copies).replace('group: analysts', `group: ${group}`)
    writeFileSync(config, settings + here)
    expect(await run('sync')).toMatchObject({ code: 0 })
    const [made = ''] = readdirSync(copies, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(db|parquet)$/.test(name),
    )
    const readers = text.includes('withoutPersonalData') ? 0o444 : 0o440

    expect(statSync(join(copies, made)).mode & 0o777, text).toBe(readers)
  }
  expect(examples).toHaveLength(3)
})

/** The folder with the configuration, an empty one, that of the copies, and a checkout in which the demo was played. */
type Folder = 'home' | 'empty' | 'copies' | 'checkout'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

const CUSTOMERS = [120, 7, 3]

/** Organizations that the configuration does not name any more. */
const LEFT = ['hooli', 'umbrella', 'initrode']

/** A machine as the pages assume it: a mirror with twelve runs, a copy of it for readers, and everything that they name besides. */
async function aDocumentedMachine() {
  const copies = temporaryFolder()
  const copy = join(copies, 'customers.db')
  const backups = temporaryFolder()
  const organizations = organizationsOf(await aSandbox({ customers: CUSTOMERS }))
  const settings = { defaults: { scan: 'chain' }, queue: aQueue(), schedule: FAR_AWAY }
  const { folder, mirror, ...home } = aWorkplace(organizations, { ...settings, publish: { file: copy, keep: 7 } })
  writeFileSync(mirror, await (mirrored ??= mirrorNights()), { mode: 0o600 })
  await home.run('publish')
  const queue = join(mirror, '..', 'queue')

  /** Runs shell commands in one of its folders, and stops at the first that fails. */
  async function run(commands: readonly string[], where: Folder) {
    const pids = join(temporaryFolder(), 'pids')
    const checkout = where === 'checkout' ? await aCheckout() : ''
    const folders = { home: folder, copies, backups, checkout, empty: temporaryFolder() }
    const env = { ...environment(organizations), PATH: aPath(pids), HOME: temporaryFolder() }
    const lines = commands.map((command) => onThisMachine(command, folders))
    const cwd = folders[where]
    const args = lines.length === 1 ? argumentsOf(lines[0] ?? '') : undefined
    if (args !== undefined) return runCli(args, { cwd, env })
    const needsQueue = isEmbedded || lines.some((line) => line.includes('--embedded'))
    if (needsQueue && !existsSync(queue)) prepareQueue(queue)
    onTestFinished(() => {
      if (existsSync(pids)) spawnSync('kill', ['-9', ...readFileSync(pids, 'utf8').trim().split('\n')])
    })
    return startCli(['-e', '-c', lines.join('\n')], { cwd, env, program: '/bin/sh' }).ended
  }

  return { mirror, copy, run }
}

let mirrored: Promise<Buffer> | undefined

/** The mirror of all these machines, made once: four nights, and one of organizations that are not configured. */
async function mirrorNights(): Promise<Buffer> {
  const organizations = organizationsOf(await aSandbox({ customers: CUSTOMERS }))
  const { run, mirror } = aWorkplace(organizations, { defaults: { scan: 'chain' } })
  for (let night = 0; night < 4; night += 1) await run('sync')
  const others = organizationsOf(await aSandbox({ customers: [5, 4, 2] }))
  const renamed = others.map((other, place) => ({ ...other, id: LEFT[place] ?? other.id }))
  await aWorkplace(renamed, { mirror }).run('sync')
  return readFileSync(mirror)
}

/** A folder in which npm runs the scripts of this checkout, with a mirror as the demo leaves it. */
async function aCheckout(): Promise<string> {
  const folder = temporaryFolder()
  for (const name of ['package.json', 'src', 'jobs', 'node_modules']) symlinkSync(join(ROOT, name), join(folder, name))
  mkdirSync(join(folder, 'data', 'demo'), { recursive: true, mode: 0o700 })
  const organizations = organizationsOf(await aSandbox({ customers: [2500, 1000, 40] }))
  await aWorkplace(organizations, { mirror: join(folder, 'data', 'demo', 'customers.db') }).run('sync')
  return folder
}

/** A command with the folders of the pages found in this machine, and the program found on its PATH. */
function onThisMachine(command: string, { home, copies, backups }: Record<Folder | 'backups', string>): string {
  return command
    .replaceAll('/usr/local/bin/', '')
    .replaceAll('/srv/customer-mirror', home)
    .replaceAll('/srv/copies', copies)
    .replaceAll('/backup/', `${backups}/`)
    .replaceAll('/var/lib/prometheus/node-exporter', backups)
}

/** The variables that the pages name: the secret, and a request that is known to work. */
function environment([acme]: readonly Written[]): Record<string, string> {
  if (acme === undefined) throw new Error('There is no organization.')
  const { baseUrl, apiKey, secret } = acme
  const url = `${baseUrl}/customers?page=1&per_page=100`
  const credentials = { apiKey: String(apiKey), secret: String(secret) }
  const request = { method: 'GET', url: new URL(url) }
  const headers = signedHeaders(request, credentials, { unixMs: 1_767_225_600_000 }, recipeOf(DEFAULT_PRESET))
  return {
    ...{ NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'] ?? '', ACME_SECRET: String(secret), URL: url },
    ...{ TS: headers['X-Timestamp'] ?? '', SIG: headers['X-Signature'] ?? '' },
  }
}

/** A PATH with `customer-mirror`. A sandbox goes on in the background, as in another terminal; a worker is stopped as soon as it works. */
function aPath(pids: string): string {
  const folder = temporaryFolder()
  const program = `"${execPath}" "${LAUNCHER}"`
  const text = SERVING.replaceAll('PROGRAM', program).replaceAll('PIDS', pids)
  writeFileSync(join(folder, 'customer-mirror'), text, { mode: 0o755 })
  return [folder, dirname(execPath), ours['PATH'], aStandInForSqlite3()].join(delimiter)
}

const SERVING = `#!/bin/sh
case "$*" in
  *--list-scenarios*) exec PROGRAM "$@" ;;
  sandbox* | worker*) ;;
  *) exec PROGRAM "$@" ;;
esac
said=$(mktemp)
PROGRAM "$@" --port 0 > "$said" 2>&1 &
server=$!
echo $server >> "PIDS"
until grep -qE 'Wrote |"worker started"' "$said"; do
  kill -0 $server 2> /dev/null || { cat "$said" >&2; exit 1; }
  sleep 0.05
done
[ "$1" = sandbox ] && exit 0
kill -TERM $server
wait $server
[ $? -eq 143 ] || { cat "$said" >&2; exit 1; }
`

/** A folder with a `sqlite3` that can do what the documents ask of it, for machines that have none. */
function aStandInForSqlite3(): string {
  const folder = temporaryFolder()
  writeFileSync(
    join(folder, 'sqlite3'),
    `#!${process.execPath}
const Database = require(${JSON.stringify(new URL('../node_modules/better-sqlite3', import.meta.url).pathname)})
const [file, command] = process.argv.slice(2)
const db = new Database(file)
const [, target] = /^\\.backup '(.*)'$/.exec(command) ?? []
if (target === undefined) for (const row of db.prepare(command).raw().all()) console.log(row.join('|'))
else db.exec(\`VACUUM INTO '\${target}'\`)
`,
    { mode: 0o755 },
  )
  return folder
}
