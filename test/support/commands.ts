import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Queues } from '../../jobs/queue/queues.ts'
import { moveCommand } from '../../src/cli/backup.ts'
import { checkCommand } from '../../src/cli/check.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { newcomers } from '../../src/service/scenarios/scenario.ts'
import { eventually } from './eventually.ts'
import { envelopeOf, json, type Reply } from './fault-server.ts'
import { runCli, startCli } from './run-cli.ts'
import { type Done, runCommand } from './run-command.ts'
import { temporaryFolder } from './temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

/** What `check` says of an organization that answers, with these settings. */
export async function checked(settings: Parameters<typeof aWorkplace>[1]) {
  const { config } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings)
  return runCommand(checkCommand, ['--config', config])
}

/** A file with this content; its path. */
export function written(path: string, content: string): string {
  writeFileSync(path, content)
  return path
}

/** Runs `customer-mirror move` with a configuration of this mirror. */
export function move(mirror: string, to: string, ...[option]: ('--json' | AbortSignal)[]): Promise<Done> {
  const { config } = aWorkplace([{ id: 'acme', baseUrl: 'http://127.0.0.1:1', apiKey: 'made-up', secret: 'made-up' }], {
    mirror,
  })
  const asJson = option === '--json' ? [option] : []
  return runCommand(
    moveCommand,
    ['--to', to, '--config', config, ...asJson],
    option instanceof AbortSignal ? option : undefined,
  )
}

/** Runs `cancel` for an organization. */
export function cancel(place: { config: string; folder: string }, organization: string) {
  return runCli(['cancel', organization, '--config', place.config], { cwd: place.folder })
}

type Options = Pick<Parameters<typeof runCli>[1], 'signal' | 'onStderr'>

/** Runs `run` in that folder. */
export function run(place: { config: string; folder: string }, args: readonly string[], options: Options = {}) {
  return runCli(['run', ...args, '--config', place.config], { cwd: place.folder, ...options })
}

/** The worker reports a run before its job waits. */
export async function untilDelayed(queues: Queues): Promise<void> {
  await eventually(
    () => queues.sync.getJobCountByTypes('delayed'),
    (jobs) => jobs === 1,
  )
}

/** A service whose organizations were mirrored, after which one customer of the first came and two of them left. */
export async function afterANight(customers: number[]) {
  const sandbox = await aSandbox({ customers })
  const { folder, mirror } = aWorkplace(organizationsOf(sandbox))
  await runCli(['sync'], { cwd: folder })
  const hand = sandbox.organization('acme')
  const list = [...hand.customers]
  for (const place of [900, 1700]) hand.delete(list[place]?.id ?? '')
  hand.insert(newcomers('new')(list.at(-1)?.created_at ?? ''))
  return { folder, mirror }
}

export async function aMirroredWorkplace(counts = [12]) {
  const organizations = organizationsOf(await aSandbox({ customers: counts }))
  const workplace = aWorkplace(organizations)
  await runCommand(syncCommand, ['--config', workplace.config])
  return { ...workplace, organizations }
}

/** Commands with mirrors that the environment names, of the organizations of a sandbox. */
export function commandsWith(sandbox: () => Sandbox) {
  const runOn = (mirror: string, ...args: string[]) => runCli(args, placeOf(mirror))
  const start = (mirror: string, ...args: string[]) => startCli(args, placeOf(mirror))
  return { run: runOn, start, standing, exported }

  function placeOf(mirror: string) {
    const { folder } = aWorkplace(organizationsOf(sandbox()), { defaults: { scan: 'chain' } })
    return { cwd: folder, env: { CUSTOMER_MIRROR_MIRROR: mirror, COLUMNS: '80' } }
  }

  /** How the organizations of a mirror stand, without ages. */
  async function standing(mirror: string): Promise<unknown> {
    const { stdout } = await runOn(mirror, 'status', '--json')
    return JSON.parse(stdout, (name, value: unknown) => (/age/i.test(name) ? undefined : value))
  }

  /** The lines of an export. */
  async function exported(mirror: string): Promise<string[]> {
    const file = join(temporaryFolder(), 'exported.csv')
    expect(await runOn(mirror, 'export', '--format', 'csv', '-o', file)).toMatchObject({ code: 0 })
    return readFileSync(file, 'utf8').trimEnd().split('\n')
  }
}

/** The key of the policy. */
export const KEY = 'made-up key of a test, 32 characters and more'

/** A value to be hidden. */
export const PHONE = '+1 555 0100 unmistakable'

/** Three customers with a phone number. */
export const PEOPLE: Reply = (response, request) => {
  const { data, ...same } = envelopeOf(3, request)
  return json(200, { ...same, data: data.map((record) => ({ ...record, phone: PHONE, address: 'unmistakable' })) })(
    response,
    request,
  )
}

/** The policy as a configuration writes it. */
export const privacy = { drop: ['address'], hash: ['phone'], key: { env: 'PRIVACY_KEY' } }
