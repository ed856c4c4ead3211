// Makes dist/, the program as it is installed, and as a checkout starts it that was not changed since. Plain JavaScript, since any Node that
// npm runs on builds it. `npm ci` in a checkout runs it too; where its tools are left out, as `--omit=dev` does, it makes nothing.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))

/** The command line, the library, and what is run in a process apart. Each is a file of dist/, and shares the others with its kin. */
const PROGRAMS = ['src/cli/main', 'src/library', 'src/cli/statement-process', 'src/report/publish-process']

/** Packages that every command loads: two hundred small files, of which to find and to open each took a third of a start. */
const BUILT_IN = ['@commander-js/extra-typings', 'commander', 'croner', 'leven', 'p-limit', 'undici', 'yaml', 'zod']

/** Large modules of Node that many commands do not use: they are loaded once something in them is. With what each exports. */
const ON_USE = new Map()
for (const name of ['node:child_process', 'node:crypto', 'node:perf_hooks', 'node:v8'])
  ON_USE.set(name, await import(name))

const startedAt = new Date()
const rolldown = await import('rolldown').catch(() => undefined)
if (rolldown === undefined) process.exit()

for (const name of ['commit', 'parts']) rmSync(`${ROOT}dist/${name}`, { recursive: true, force: true })
const { dependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
const apart = Object.keys(dependencies).filter((name) => !BUILT_IN.includes(name))
const first = new Set()
await rolldown.build({
  cwd: ROOT,
  input: Object.fromEntries(PROGRAMS.map((name) => [name, `./${name}.ts`])),
  external: (id) => apart.some((name) => id === name || id.startsWith(`${name}/`)),
  platform: 'node',
  plugins: [
    {
      name: 'start',
      transform: loadHttp2OnUse,
      buildEnd: findFirst,
      renderChunk: takeFromNode,
      generateBundle: writeAscii,
    },
  ],
  output: {
    dir: 'dist',
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name]-[hash].js',
    // To find and to open files takes longer than to read some code that a command does not need: two large parts in place of fifty.
    codeSplitting: {
      groups: [
        { name: 'start', test: (id) => first.has(id), priority: 1 },
        { name: 'most-commands', minShareCount: 8 },
      ],
    },
  },
})
// Written last: a checkout compares its files with the time that this one bears.
writeFileSync(`${ROOT}dist/commit`, `${commit()}\n`)
utimesSync(`${ROOT}dist/commit`, startedAt, startedAt)

/** Finds what the command line imports before it knows its command. The entry itself waits for that command, so no part may import it. */
function findFirst() {
  const entry = `${ROOT}src/cli/main.ts`
  // A set is walked through with what is added meanwhile.
  first.add(entry)
  for (const id of first) for (const imported of this.getModuleInfo(id)?.importedIds ?? []) first.add(imported)
  first.delete(entry)
}

/** No request is sent by HTTP/2, which takes a twentieth of a short run where it is loaded at once. */
function loadHttp2OnUse(code, id) {
  if (!id.endsWith('/undici/lib/dispatcher/client.js')) return undefined
  const lazily = code.replace("= require('./client-h2.js')", "= (...given) => require('./client-h2.js')(...given)")
  if (lazily === code) throw new Error('undici loads HTTP/2 in another way than it did: see loadHttp2OnUse.')
  return lazily
}

/** Takes Node's own modules without an import, which would look at each of their exports, and so load those that Node loads only on demand. */
function takeFromNode(code) {
  const imports = /^import (?:(?:\* as )?([\w$]+)(?:, )?)?(?:\{ (.*) \})? from "(node:[\w/]+)";$/gm
  const taken = (_, whole, named = '', module) => {
    const node = `globalThis.process.getBuiltinModule("${module}")`
    const onUse = ON_USE.get(module)
    const names = named.split(', ').filter(Boolean)
    const consts = names.map((name) => {
      const [theirs, ours = theirs] = name.split(' as ')
      const it = `${node}.${theirs}`
      // Classes and constants are needed at once.
      const isWrapped = /^[a-z]/.test(theirs) && typeof onUse?.[theirs] === 'function'
      return `${ours} = ${isWrapped ? `(...given) => ${it}(...given)` : it}`
    })
    if (whole) consts.push(`${whole} = ${onUse ? `new Proxy({}, { get: (_, name) => ${node}[name] })` : node}`)
    return `const ${consts.join(', ')};`
  }
  // Behind the imports a line may be one of a text.
  return code.replace(/^(?:import .*\n)+/, (head) => head.replace(imports, taken))
}

/** Writes all in ASCII, except in String.raw: of code with one letter outside Latin-1, V8 keeps two bytes for each letter. */
function writeAscii(_, bundle) {
  const escaped = (text) => (text.length > 1 ? text : `\\u${text.charCodeAt(0).toString(16).padStart(4, '0')}`)
  for (const part of Object.values(bundle)) part.code = part.code.replace(/String\.raw`[^`]*`|[^\0-\x7f]/g, escaped)
}

/** The commit that the environment names, as where an image is built, or that of the checkout; empty where there is none. */
function commit() {
  const named = process.env.CUSTOMER_MIRROR_COMMIT
  return named || spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() || ''
}
