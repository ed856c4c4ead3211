import { chmodSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { asPlainUser, startCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const PLAIN_USER = asPlainUser()

if (PLAIN_USER !== undefined) {
  test('a folder in which no mirror can be created is reported', async () => {
    const { folder } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
    for (const place of [folder, join(folder, 'data'), join(folder, 'customer-mirror.yaml')]) chmodSync(place, 0o555)
    const done = await startCli(['check'], { cwd: folder, ...PLAIN_USER }).ended
    for (const place of [folder, join(folder, 'data')]) chmodSync(place, 0o700)

    expect(done.code).toBe(7)
    expect(done.stdout).toMatch(/^✖ mirror: .*permission denied \(\w+, EACCES\)\. Check the name, who owns it/m)
    expect(done.stdout).toContain('    fix: Repair what is named above, or name another mirror in the configuration.\n')
  })
}

test('a mirror that every user may open is a warning, and no failure', async () => {
  const { folder, mirror } = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))
  await startCli(['sync'], { cwd: folder }).ended
  chmodSync(dirname(mirror), 0o755)
  chmodSync(mirror, 0o644)
  const done = await startCli(['check'], { cwd: folder }).ended

  expect(done.code).toBe(0)
  expect(done.stdout).toMatch(
    /^! mirror: .*sound and writable; every user .*\(its mode is 644\)\n {4}fix: The next run/m,
  )
})
