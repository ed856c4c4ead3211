import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runCli, runInShell, startCli } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test.each(someOf(['sync', 'status', 'runs --json', 'schema', '--help', 'check'], { every: 6 }))(
  '%s does not fail when its results are not read to the end',
  async (command) => {
    const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
    await runCli(['sync'], { cwd: folder })
    const { code, signal, stderr } = await startCli(command.split(' '), { cwd: folder, unread: 'stdout' }).ended

    // 141 is what a shell makes of a program that ended because its pipe was closed.
    expect([0, 141]).toContain(code)
    expect(signal).toBeNull()
    expect(stderr).not.toMatch(/Error|^\s+at /m)
  },
)

test.runIf(existsSync('/dev/full'))('a full disk behind the results ends every command with 5', () => {
  const { code, stderr } = runInShell('customer-mirror schema > /dev/full', { cwd: temporaryFolder() })

  expect({ code, stderr }).toEqual({
    code: 5,
    stderr: expect.stringMatching(
      /^standard output: no space left on device \(write, ENOSPC\)\. What was written is not all of it\. /,
    ),
  })
})

test.each(['sync', 'init', 'sql 1 --mirror /made-up/customers.db'])(
  '%s in a folder that was removed ends with 2, and says so',
  (command) => {
    const { code, stderr } = runInShell(`mkdir gone && cd gone && rmdir ../gone && customer-mirror ${command}`, {
      cwd: temporaryFolder(),
    })

    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'The folder in which this command was started is no longer there. Change to one that is (cd), then run it again.\n',
    })
  },
)
