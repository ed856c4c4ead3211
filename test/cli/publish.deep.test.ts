import { lockPlace } from '../../src/copies/written-file.ts'
import { chmodSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aCustomer } from '../support/builders.ts'
import { json } from '../support/fault-server.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { someOf } from '../support/seeds.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'
import { aMirroredWorkplace } from '../support/publish-command.ts'

describe('publish', () => {
  test('names the organizations that are left out', async () => {
    const server = await aFaultServer(json(503, {}))
    const place = aWorkplace([organizationAt(server, { maxWait: '0s' })])
    await runCli(['sync', '--limit-pages', '1'], { cwd: place.folder })
    const { code, stdout } = await runCli(['publish', 'copies/x.db'], { cwd: place.folder })

    expect(code).toBe(0)
    expect(stdout).toContain('Not in a copy: acme, whose list was never read to its end\n')
  })

  test('what cannot be replaced is refused with a clear message, and nothing is made', async () => {
    const { folder } = await aMirroredWorkplace()
    const cases: [said: RegExp, args: string[]][] = [
      [/^Nothing says where the copy goes. Name a file in a folder of its own/, []],
      [/^The name of the copy is empty/, ['']],
      [/too many arguments/, ['a/x.db', 'b/x.db']],
      [/customers\.db: is the mirror itself/, ['data/customers.db']],
      [/data: is the folder of the mirror/, ['data/x.db']],
      [/data: is a folder; name a file in it/, ['data']],
      [/copies\/: is a folder; name a file in it/, ['copies/']],
      [/customer-mirror\.yaml: was not published by this program/, ['customer-mirror.yaml']],
      [/customer-mirror\.yaml: is not a folder|not a directory \(\w+, ENOTDIR\)/, ['customer-mirror.yaml/x.db']],
      [/has a name that is too long/, [`copies/${'x'.repeat(300)}.db`]],
      [/\(mkdir, ENOENT\)|permission denied|read-only|was not published/, ['/proc/x/readers.db']],
      [/unknown option '--keep'/, ['copies/x.db', '--keep', '3']],
    ]
    for (const [said, args] of someOf(cases)) {
      const ended = await runCli(['publish', ...args], { cwd: folder })
      expect(ended, args.join(' ')).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(said) })
      expect(ended.stderr).not.toMatch(/^\s+at |Unexpected|node_modules/m)
      expect(readdirSync(folder).toSorted()).toEqual(['customer-mirror.yaml', 'data'])
    }
  })

  test('a mirror that does not exist yet ends with 7, and makes nothing', async () => {
    const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
    const ended = await runCli(['publish', 'copies/x.db'], { cwd: folder })

    expect(ended).toMatchObject({ code: 7, stdout: '', stderr: expect.stringContaining('there is no mirror yet') })
    expect(readdirSync(folder)).not.toContain('copies')
  })

  test('Ctrl-C ends it with 130, and the copy from before stays', async () => {
    const { folder } = await aMirroredWorkplace({ file: 'copies/x.db' })
    await runCli(['publish'], { cwd: folder })
    const before = readFileSync(join(folder, 'copies', 'x.db'))
    // The lock of the copy is held, so the publish waits.
    const lock = lockPlace(join(folder, 'copies', 'x.db'))
    const publishing = startCli(['publish'], { cwd: folder })
    await expect.poll(() => publishing.send('SIGINT')).toBeUndefined()
    const { code, signal } = await publishing.ended
    lock.release()

    expect(code === 130 || signal === 'SIGINT').toBe(true)
    expect(readFileSync(join(folder, 'copies', 'x.db')).equals(before)).toBe(true)
  })
})

describe('sync with a copy in the configuration', () => {
  test('with --json the copies are in the document, and with --log-level in the log, without a customer in either', async () => {
    const secret = 'planted-name-of-a-customer'
    const data = [aCustomer(1, { name: secret, email: `${secret}@example.com` })]
    const meta = { current_page: 1, per_page: 100, total: 1, last_page: 1 }
    const server = await aFaultServer(json(200, { success: true, data, meta }))
    const { folder } = aWorkplace([organizationAt(server)], { publish: { file: 'copies/x.db' } })
    const printed = await runCli(['sync', '--json'], { cwd: folder })
    const logged = await runCli(['sync', '--log-level', 'info'], { cwd: folder })

    expect(JSON.parse(printed.stdout)).toMatchObject({
      runs: [{}],
      published: { copies: [{ file: join(folder, 'copies', 'x.db') }] },
    })
    const lines = logged.stderr
      .trim()
      .split('\n')
      .map((line) => z.looseObject({ msg: z.string() }).parse(JSON.parse(line)))
    expect(lines.find(({ msg }) => msg === 'copy published')).toMatchObject({ organizations: 1, customers: 1 })
    expect(printed.stdout + printed.stderr + logged.stdout + logged.stderr).not.toContain('planted')
    expect(valueOf(join(folder, 'copies', 'x.db'), 'SELECT name FROM customers')).toBe(secret)
  })

  test('a folder that others may write to is refused after each night, and the mirror is complete all the same', async () => {
    const { folder, mirror } = await aMirroredWorkplace({ file: './x.db' })
    chmodSync(folder, 0o777)
    const { code, stderr } = await runCli(['sync'], { cwd: folder })

    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('users besides its owner may write there'),
    })
    expect(valueOf(mirror, `SELECT count(*) FROM runs WHERE status = 'complete'`)).toBe(4)
  })
})
