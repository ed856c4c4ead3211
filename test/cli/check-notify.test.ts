import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkCommand } from '../../src/cli/check.ts'
import { aReceiver } from '../support/fault-server.ts'
import { runCommand } from '../support/run-command.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const URL_WITH_TOKEN = 'https://hooks.example.com/t0ken?k=t0ken'

async function checked(settings: { notify?: object; heartbeat?: object }, secret = '') {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings)
  writeFileSync(join(workplace.folder, 'secret'), secret)
  const { code, stdout } = await runCommand(checkCommand, ['--config', workplace.config])
  expect(stdout).not.toContain('t0ken')
  return { code, said: stdout.split('\n').filter((line) => /^. (notify|heartbeat): |^ +fix: /.test(line)) }
}

test('where nights are reported is said without a token, and nothing is sent', async () => {
  const { url, received } = await aReceiver(200)
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`

  expect(await checked({ notify: { url: URL_WITH_TOKEN, secret: { file: './secret' } } }, secret)).toEqual({
    code: 0,
    said: ['✔ notify: a report of each night to hooks.example.com, signed'],
  })
  expect(await checked({ notify: { url, only: 'failures' }, heartbeat: { url: URL_WITH_TOKEN } })).toEqual({
    code: 0,
    said: [
      `✔ notify: a report of each night with a failure to ${url.slice('http://'.length)}, not signed`,
      '✔ heartbeat: a request to hooks.example.com after each good night',
    ],
  })
  expect(received).toEqual([])
})

test.each(['t0ken', 'whsec_t0ken', 'whsec_not base64 t0ken', ''])(
  'a secret that cannot sign is an error: "%s"',
  async (secret) => {
    const { code, said } = await checked({ notify: { url: URL_WITH_TOKEN, secret: { file: './secret' } } }, secret)

    expect(code).not.toBe(0)
    expect(said[0]).toMatch(/^✖ notify: .*secret of notify\) (must be whsec_ and 24 to 64 bytes in base64|is empty)/)
  },
)
