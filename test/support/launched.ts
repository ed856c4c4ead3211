import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { execPath, kill } from 'node:process'
import { onTestFinished } from 'vitest'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'
import { eventually } from './eventually.ts'
import { aGate, type Gate } from './gate.ts'
import { LAUNCHER } from './launcher.ts'
import { rowsOf } from './mirror-file.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

/** Makes the launcher believe that it runs on a Node that is too old, so that it starts the one that npm installed. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`,
)}`

/** A sync under a launcher, in the middle of its run. The second page is answered when asked for, the third one never. */
export async function aSync() {
  const gate = aGate({ fromPage: 2 })
  const { args, folder, mirror } = await aPlace(gate)
  const launcher = spawn(execPath, ['--import', OLD_NODE, LAUNCHER, ...args], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await gate.reached
  const pid = childOf(launcher.pid ?? 0)
  onTestFinished(() => {
    gate.open()
    launcher.kill('SIGKILL')
    if (isGone(program) === false) kill(pid, 'SIGKILL')
  })
  const program = nameOfProcess(pid)
  await eventually(
    () => rowsOf(mirror, 'SELECT received FROM runs'),
    ([run]) => run?.['received'] === 100,
  )
  return { launcher, pid, program, mirror, answer: () => gate.open(2) }
}

/** A folder with a configuration for a service behind the gate. */
export async function aPlace(gate: Gate) {
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  const { folder, config, mirror } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  return { folder, mirror, args: ['sync', '--config', config, '--log-level', 'error'] }
}

/** How a process ended. */
export async function ended(child: ChildProcess) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return [child.exitCode, child.signalCode]
}

/** The only process that another one has started. */
function childOf(parent: number): number {
  const found = readdirSync('/proc').find((id) => /^\d+$/.test(id) && parentOf(id) === parent)
  return Number(found)
}

function parentOf(id: string): number {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8')
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}
