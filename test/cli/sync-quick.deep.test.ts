import { expect, test } from 'vitest'
import { afterANight } from '../support/commands.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

test('--quick --dry-run reports the same, and changes nothing', async () => {
  const { folder, mirror } = await afterANight([3000])

  const { stdout } = await runCli(['sync', '--quick', '--dry-run'], { cwd: folder })

  expect(stdout).toContain('acme: 1 new, 2 missing; ')
  expect(stdout).toContain('Dry run: nothing was written.')
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM runs')).toBe(1)
  expect(valueOf(mirror, 'SELECT COUNT(*) FROM customers WHERE missing_since IS NOT NULL')).toBe(0)
})

test('at its limit of requests, --quick ends with 5, and the next one goes on', async () => {
  const sandbox = await aSandbox({ customers: [6000] })
  const { folder } = aWorkplace(organizationsOf(sandbox))
  await runCli(['sync'], { cwd: folder })
  const list = [...sandbox.organization('acme').customers]
  for (let place = 150; place < list.length; place += 300) sandbox.organization('acme').delete(list[place]?.id ?? '')

  const { code, stdout, stderr } = await runCli(['sync', '--quick'], { cwd: folder })

  expect(code).toBe(5)
  expect(stdout).toMatch(/^acme: .*pages trusted without reading$/m)
  expect(stderr).toContain('acme: the quick run stopped at its limit, after 40 requests.')
})
