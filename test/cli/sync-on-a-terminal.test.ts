import { expect, test } from 'vitest'
import { syncCommand } from '../../src/cli/sync.ts'
import { html, list, refusal, type Reply } from '../support/fault-server.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { runOnScreen } from '../support/screen.ts'
import { aFaultServer, aSandbox, aWorkplace, organizationAt, organizationsOf } from '../support/workplace.ts'

test.each([80, 60, 40])(
  'on %d columns each organization that failed has a block below the table: name, cause, fix and the command that shows more',
  async (columns) => {
    const sandbox = await aSandbox({ customers: [3, 4, 5], forbidden: ['globex'] })
    const talkative = await aFaultServer(html(200))
    const { config } = aWorkplace([...organizationsOf(sandbox), organizationAt(talkative, { id: 'hooli' })])
    const { code, lines, broken } = await runOnScreen(syncCommand, ['--config', config], { columns })
    const below = lines.slice(lines.findIndex((line) => line.startsWith('Mirror: ')))
    const blocks = below.join('\n').split('\n\n').slice(1)

    expect(code).toBe(3)
    expect(blocks.map((block) => block.split('\n')[0])).toEqual([
      '✖ globex: plan forbids',
      '✖ hooli: not the documented answer',
    ])
    const [globex = '', hooli = ''] = blocks.map((block) => block.replaceAll(/\s+/g, ' '))
    expect(withoutBreaks(globex)).toContain(`GET${sandbox.origin}`)
    expect(globex).toContain('answered 403')
    expect(globex).toContain(
      'fix: Check that apiKey is the key of this organization. If it is, its plan has to include listing customers.',
    )
    expect(globex).toContain('customer-mirror runs show ')
    expect(hooli).toContain('fix: Check that baseUrl is the final address of the interface itself')
    // Commands, paths and addresses are left whole, to be copied.
    expect(broken.filter((line) => !/customer-mirr|http:/.test(line))).toEqual([])
  },
)

test('the command of a block shows that run', async () => {
  const { config, folder } = aWorkplace([organizationAt(await aFaultServer(refusal(403, 'forbidden', 'No.')))])
  const { text } = await runOnScreen(syncCommand, ['--config', config], { columns: 300 })
  const [, command = ''] = /^ {2}customer-mirror (runs show .*)$/m.exec(text) ?? []
  const { code, stdout } = await runCli(command.split(' '), { cwd: folder })

  expect(code).toBe(0)
  expect(stdout).toMatch(/^run #1 of acme, failed/)
})

test.each<[scan: string, said: RegExp]>([
  ['chain', /\d+ customers read so far are saved; the next sync continues from here, if it starts before 20.* UTC\./],
  ['plain', /\d+ customers read so far are saved; the next sync reads the list from its start/],
])('after Ctrl-C a block explains how the next sync continues a %s scan, and how to inspect it', async (scan, said) => {
  const stop = new AbortController()
  const { config } = aWorkplace([organizationAt(await aFaultServer(list(900), stopping(stop, 900)))], {
    defaults: { scan, concurrency: 1 },
  })
  const { text } = await runOnScreen(syncCommand, ['--config', config], { signal: stop.signal })
  const [, block = ''] = text.split('\n\n■ ')

  expect(block).toMatch(/^acme: stopped\n/)
  expect(block.replaceAll(/\s+/g, ' ')).toMatch(said)
  expect(withoutBreaks(block)).toContain(withoutBreaks(`customer-mirror runs show 1 --config ${config}`))
})

test('the promise of the block is kept: the next sync continues, and says so in its line and its table', async () => {
  const stop = new AbortController()
  const { config } = aWorkplace([organizationAt(await aFaultServer(list(900), stopping(stop, 900), list(900)))], {
    defaults: { scan: 'chain', concurrency: 1 },
  })
  await runOnScreen(syncCommand, ['--config', config], { signal: stop.signal })
  const { code, text } = await runOnScreen(syncCommand, ['--config', config])

  expect(code).toBe(0)
  expect(text.replaceAll(/\s+/g, ' ')).toMatch(/✔ acme 900 customers \(resumed: \d+ had been read before\): \d+ new/)
  expect(text).toMatch(/^acme +complete \(resumed\) +900 /m)
})

test('after a stopped dry run, nothing is reported as saved, and no run is named', async () => {
  const stop = new AbortController()
  const { config } = aWorkplace([organizationAt(await aFaultServer(list(900), stopping(stop, 900)))])
  const { text } = await runOnScreen(syncCommand, ['--dry-run', '--config', config], { signal: stop.signal })

  expect(text).toContain('■ acme: stopped\n  It was a dry run: nothing was saved.')
  expect(text).not.toContain('runs show')
})

test('without failures there is nothing below the table', async () => {
  const { config, mirror } = aWorkplace([organizationAt(await aFaultServer(list(3)))])
  const { code, lines } = await runOnScreen(syncCommand, ['--config', config], { columns: 200 })

  expect(code).toBe(0)
  expect(lines.at(-1)).toBe(`Mirror: ${mirror}`)
})

test('blocks go to standard error, apart from the results, and are not wrapped in a file', async () => {
  const { config } = aWorkplace([organizationAt(await aFaultServer(refusal(403, 'forbidden', 'No.')))])
  const { stdout, stderr } = await runCommand(syncCommand, ['--config', config])

  expect(stdout).not.toContain('fix:')
  expect(stderr).toMatch(/^✖ acme: plan forbids\n {2}GET .*Ask the service to permit it\.\n {2}fix: .*\n {2}customer-/m)
})

/** Asks for the stop, and answers all the same. */
function stopping(stop: AbortController, total: number): Reply {
  return async (response, request) => {
    stop.abort()
    await list(total)(response, request)
  }
}

function withoutBreaks(text: string): string {
  return text.replaceAll(/\s/g, '')
}
