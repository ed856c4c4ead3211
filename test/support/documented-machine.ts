import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { env as ours, execPath } from 'node:process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { parse, stringify } from 'yaml'
import { publishCommand } from '../../src/cli/publish.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { DEFAULT_PRESET, recipeOf, signedHeaders } from '../../src/signing/signing.ts'
import { aQueue, FAR_AWAY, isEmbedded, prepareQueue } from './jobs-workplace.ts'
import { runHere } from './run-cli.ts'
import { runCommand } from './run-command.ts'
import { temporaryFolder } from './temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf, type Written } from './workplace.ts'

type Environment = Readonly<Record<string, string>>

/**
 * The arguments of a line that does nothing but run `customer-mirror`, as a shell gives them; undefined for a line that only a shell
 * can run, and for a sandbox, which has to go on meanwhile.
 */
function argumentsIn(line: string, env: Environment): string[] | undefined {
  const words: string[] = []
  const word = /\s*(?:"([^"\\`]*)"|'([^']*)'|([\w@%+=:,./-]+))(?=\s|$)/y
  while (!/^\s*(#.*)?$/s.test(line.slice(word.lastIndex))) {
    const [, double, single, bare] = word.exec(line) ?? []
    const unquoted = double?.replaceAll(/\$([A-Z_]+)/g, (_, name: string) => env[name] ?? '') ?? single ?? bare
    if (unquoted === undefined || (double !== undefined && unquoted.includes('$('))) return undefined
    words.push(unquoted)
  }
  const [program, ...given] = words
  return program === 'customer-mirror' && given[0] !== 'sandbox' ? given : undefined
}

/** A line that runs another one in a folder, and appends what that prints to a file, as in a crontab. */
function inFolder(line: string): { folder: string; rest: string; file: string } | undefined {
  const [, folder, rest, file] = /^cd ([\w./-]+) && ([^&|;<>]+?) >> ([\w.-]+)$/.exec(line) ?? []
  return folder === undefined || rest === undefined || file === undefined ? undefined : { folder, rest, file }
}

/** Whether a line leaves something in its shell that a later one may use: a variable, another folder. */
function needOneShell(lines: readonly string[]): boolean {
  return lines.slice(0, -1).some((line) => /^\w+=|(^|[;&] *)(cd|export|set|umask) /.test(line))
}

type Ended = { code: number | null; stdout: string; stderr: string }
type Place = { cwd: string; env: Environment; inShell: (line: string) => Promise<Ended> }

/** Runs these, until one fails: in this process those that need no shell. A worker is stopped as soon as it works. */
async function runInTurn(lines: readonly string[], { cwd, env, inShell }: Place): Promise<Ended> {
  const all: Ended = { code: 0, stdout: '', stderr: '' }
  for (const line of lines) {
    const { code, stdout, stderr } = (await runWithoutShell(line, { cwd, env })) ?? (await inShell(line))
    all.stdout += stdout
    all.stderr += stderr
    all.code = code
    if (code !== 0) break
  }
  return all
}

/** Undefined for a line that needs a shell. */
async function runWithoutShell(line: string, { cwd, env }: Omit<Place, 'inShell'>): Promise<Ended | undefined> {
  const elsewhere = inFolder(line)
  const words = argumentsIn(elsewhere?.rest ?? line, env)
  if (words === undefined) return undefined
  const ended = await runWords(words, { cwd: elsewhere?.folder ?? cwd, env })
  if (elsewhere === undefined) return ended
  appendFileSync(join(elsewhere.folder, elsewhere.file), ended.stdout)
  return { ...ended, stdout: '' }
}

function runWords(words: readonly string[], { cwd, env }: Omit<Place, 'inShell'>): Promise<Ended> {
  const stopping = new AbortController()
  const onStderr = (said: string) => said.includes('"worker started"') && stopping.abort()
  const port = words[0] === 'worker' ? ['--port', '0'] : []
  return runHere([...words, ...port], { cwd, env, onStderr, signal: stopping.signal })
}

/** A machine as the pages assume it, in a temporary folder. */
type DocumentedMachine = {
  mirror: string
  /** The copy for readers. */
  copy: string
  /**
   * Runs shell commands in one of its folders, and stops at the first that fails. Those that need no shell are run in this process,
   * except in a deep run.
   */
  run(commands: readonly string[], folder: Folder): Promise<{ code: number | null; stdout: string; stderr: string }>
}

/** The folder with the configuration, an empty one, that of the copies, and a checkout in which the demo was played. */
export type Folder = 'home' | 'empty' | 'copies' | 'checkout'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LAUNCHER = join(ROOT, 'src/cli/customer-mirror.mjs')

/** How many customers each organization lists. */
const CUSTOMERS = [120, 7, 3]

/** Organizations that the configuration does not name any more. */
const LEFT = ['hooli', 'umbrella', 'initrode']

/** Makes such a machine: a mirror with twelve runs, a copy of it, and everything that the pages name besides. */
export async function aDocumentedMachine(): Promise<DocumentedMachine> {
  const copies = temporaryFolder()
  const copy = join(copies, 'customers.db')
  const backups = temporaryFolder()
  const organizations = organizationsOf(await aSandbox({ customers: CUSTOMERS }))
  const settings = { defaults: { scan: 'chain' }, queue: aQueue(), schedule: FAR_AWAY }
  const { folder, config, mirror } = aWorkplace(organizations, { ...settings, publish: { file: copy, keep: 7 } })
  const withCopy = readFileSync(config, 'utf8')
  writeFileSync(mirror, await (mirrored ??= mirrorNights()), { mode: 0o600 })
  for (const { name, bytes, mode } of await (published ??= publish(config, copies)))
    writeFileSync(join(copies, name), bytes, { mode })
  // Each run would publish, which takes more of a processor than the run: until a page asks for a copy, there is none to make.
  if (!inject('isDeep')) writeFileSync(config, withoutCopy(withCopy))

  const queue = join(mirror, '..', 'queue')

  async function run(commands: readonly string[], where: Folder) {
    const pids = join(temporaryFolder(), 'pids')
    const checkout = where === 'checkout' ? await aCheckout() : ''
    const folders = { home: folder, copies, backups, checkout, empty: temporaryFolder() }
    const env = { ...environment(organizations), PATH: aPath(pids), HOME: temporaryFolder() }
    const lines = commands.map((command) => onThisMachine(command, folders))
    if (lines.some((line) => line.startsWith('customer-mirror publish'))) writeFileSync(config, withCopy)
    const cwd = folders[where]
    const needsQueue = isEmbedded || lines.some((line) => line.includes('--embedded'))
    if (needsQueue && !existsSync(queue)) prepareQueue(queue)
    const inShell = async (script: string) => {
      const child = spawn('/bin/sh', ['-e', '-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
      onTestFinished(() => stopAll(pids))
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { code: child.exitCode, stdout, stderr }
    }
    if (inject('isDeep') || needOneShell(lines)) return inShell(lines.join('\n'))
    return runInTurn(lines, { cwd, env, inShell })
  }

  return { mirror, copy, run }
}

/** The configuration without its copy for readers. */
function withoutCopy(written: string): string {
  const { publish: _, ...others }: { publish?: object } = parse(written)
  return stringify(others)
}

let mirrored: Promise<Buffer> | undefined
let published: Promise<{ name: string; bytes: Buffer; mode: number }[]> | undefined

/** The copy for readers of all these machines, made once. */
async function publish(config: string, folder: string) {
  await runCommand(publishCommand, ['--config', config])
  return readdirSync(folder).map((name) => {
    const file = join(folder, name)
    const found = { name, bytes: readFileSync(file), mode: statSync(file).mode & 0o777 }
    rmSync(file)
    return found
  })
}

/** The mirror of all these machines, made once: four nights, and one of organizations that are not configured. */
async function mirrorNights(): Promise<Buffer> {
  const { config, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: CUSTOMERS })), {
    defaults: { scan: 'chain' },
  })
  for (let night = 0; night < 4; night += 1) await runCommand(syncCommand, ['--config', config])
  const others = organizationsOf(await aSandbox({ customers: [5, 4, 2] }))
  const left = aWorkplace(
    others.map((other, place) => ({ ...other, id: LEFT[place] ?? other.id })),
    { mirror },
  )
  await runCommand(syncCommand, ['--config', left.config])
  return readFileSync(mirror)
}

/** A folder in which npm runs the scripts of this checkout, with a mirror as the demo leaves it. */
async function aCheckout(): Promise<string> {
  const folder = temporaryFolder()
  for (const name of ['package.json', 'src', 'jobs', 'node_modules']) symlinkSync(join(ROOT, name), join(folder, name))
  mkdirSync(join(folder, 'data', 'demo'), { recursive: true, mode: 0o700 })
  const organizations = organizationsOf(await aSandbox({ customers: [2500, 1000, 40] }))
  const { config } = aWorkplace(organizations, { mirror: join(folder, 'data', 'demo', 'customers.db') })
  await runCommand(syncCommand, ['--config', config])
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
  const unixMs = 1_767_225_600_000
  const credentials = { apiKey: String(apiKey), secret: String(secret) }
  const recipe = recipeOf(DEFAULT_PRESET)
  const headers = signedHeaders({ method: 'GET', url: new URL(url) }, credentials, { unixMs }, recipe)
  return {
    NODE_COMPILE_CACHE: ours['NODE_COMPILE_CACHE'] ?? '',
    ACME_SECRET: String(secret),
    URL: url,
    TS: headers['X-Timestamp'] ?? '',
    SIG: headers['X-Signature'] ?? '',
  }
}

/**
 * A PATH with `customer-mirror`. A sandbox and a worker would run until they are stopped: the one goes on in the background as if
 * in another terminal, the other is stopped as soon as it works.
 */
function aPath(pids: string): string {
  const folder = temporaryFolder()
  const program = `"${execPath}" "${LAUNCHER}"`
  writeFileSync(join(folder, 'customer-mirror'), SERVING.replaceAll('PROGRAM', program).replaceAll('PIDS', pids), {
    mode: 0o755,
  })
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

/** Stops the sandboxes that are still there. */
function stopAll(pids: string): void {
  if (!existsSync(pids)) return
  for (const pid of readFileSync(pids, 'utf8').trim().split('\n')) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It ended before.
    }
  }
}

/** A folder with a `sqlite3` that can do what the documents ask of it, for machines that have none. */
export function aStandInForSqlite3(): string {
  const folder = join(temporaryFolder(), 'bin')
  const program = join(folder, 'sqlite3')
  mkdirSync(folder)
  writeFileSync(
    program,
    `#!${process.execPath}
const Database = require(${JSON.stringify(new URL('../../node_modules/better-sqlite3', import.meta.url).pathname)})
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
