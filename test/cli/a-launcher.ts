import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { execPath, kill } from 'node:process'
import { onTestFinished } from 'vitest'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'
import { eventually } from '../support/eventually.ts'
import { aGate } from '../support/gate.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { LAUNCHER } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** Makes the launcher believe that it runs on a Node that is too old, so that it starts the one that npm installed. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`,
)}`

/** A sync under a launcher, in the middle of its run. The second page is answered when asked for, the third one never. */
export async function aSync() {
  const gate = aGate({ fromPage: 2 })
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  const { folder, config, mirror } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  const launcher = spawn(execPath, ['--import', OLD_NODE, LAUNCHER, 'sync', '--config', config], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await gate.reached
  // The only process that the launcher has started.
  const pid = Number(readFileSync(`/proc/${launcher.pid}/task/${launcher.pid}/children`, 'utf8'))
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

/** How a process ended. */
export async function howItEnded(child: ChildProcess) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return [child.exitCode, child.signalCode]
}
