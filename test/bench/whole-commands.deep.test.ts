import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { watchMemory } from '../../bench/whole/family-memory.ts'
import { runRounds } from '../../bench/rounds.ts'
import { createStage } from '../../bench/stage.ts'
import { equipped, findStarters } from '../../bench/whole/starters.ts'
import { wholeCommands } from '../../bench/whole/commands.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('whole commands are watched from the outside, and end with the rows that the service lists', async () => {
  const stage = createStage(temporaryFolder(), {})
  onTestFinished(() => stage.clear())
  const found = await findStarters(['python3'], '')
  const group = equipped(wholeCommands({ organizations: 1, customers: 1100 }), found)
  const changed = group.members.filter(({ name }) => name.endsWith('1 % changed'))
  const members = changed.map((member) => ({ ...member, nightsBefore: 1 }))
  const { rows } = await runRounds({ ...group, members }, stage, 1, () => {})
  const [sync] = rows

  expect(rows).toHaveLength(found.Python === undefined ? 2 : 3)
  for (const { measurements } of rows) {
    const { wallMs = 0, peakRssBytes, requests = 0, customers } = measurements[0] ?? {}
    expect(wallMs).toBeGreaterThan(0)
    expect(peakRssBytes).not.toBe(0)
    expect(requests).toBeGreaterThanOrEqual(10)
    expect(customers).toBe(1100)
  }
  expect(sync?.measurements[0]?.counts).toMatchObject({ inserted: 0, missing: 0, proven: 1 })
  // A program by hand keeps what is no longer listed.
  const byHand = members.find(({ program }) => program === 'by-hand-node')
  if (byHand === undefined) throw new Error('there is no program by hand')
  await expect(stage.run({ ...byHand, answering: { ...byHand.answering, edition: 'gone' } })).rejects.toThrow(
    'does not hold the rows that the service lists',
  )
})

test.runIf(process.platform === 'linux')('the memory of a command is that of all its processes', async () => {
  const program = 'const held = Buffer.alloc(100_000_000, 1); console.log(held.length); process.stdin.resume()'
  const shell = spawn('sh', ['-c', '"$0" -e "$1"; true', process.execPath, program], { stdio: 'pipe' })
  const ended = once(shell, 'close')
  await once(shell.stdout, 'data')
  const bytes = watchMemory(shell.pid ?? 0).stop()
  shell.stdin.end()
  await ended

  expect(bytes).toBeGreaterThan(100_000_000)
  expect(watchMemory(shell.pid ?? 0).stop()).toBeUndefined()
})
