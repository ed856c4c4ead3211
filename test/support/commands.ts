import { writeFileSync } from 'node:fs'
import { moveCommand } from '../../src/cli/backup.ts'
import { envelopeOf, json, type Reply } from './fault-server.ts'
import { type Done, runCommand } from './run-cli.ts'
import { anAwayOrganization, aSandbox, aWorkplace, organizationsOf } from './workplace.ts'

export async function checked(settings: Parameters<typeof aWorkplace>[1]) {
  return aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings).run('check')
}

export function written(path: string, content: string | Buffer): string {
  writeFileSync(path, content)
  return path
}

export function move(mirror: string, to: string, ...[option]: ('--json' | AbortSignal)[]): Promise<Done> {
  const { config } = aWorkplace([anAwayOrganization()], { mirror })
  const asJson = option === '--json' ? [option] : []
  const signal = option instanceof AbortSignal ? option : undefined
  return runCommand(moveCommand, ['--to', to, '--config', config, ...asJson], { signal })
}

export async function aMirroredWorkplace(counts = [12]) {
  const workplace = aWorkplace(organizationsOf(await aSandbox({ customers: counts })))
  await workplace.run('sync')
  return workplace
}

export const KEY = 'made-up key of a test, 32 characters and more'

export const PHONE = '+1 555 0100 unmistakable'

export const PEOPLE: Reply = (response, request) => {
  const { data, ...same } = envelopeOf(3, request)
  const people = data.map((record) => ({ ...record, phone: PHONE, address: 'unmistakable' }))
  return json(200, { ...same, data: people })(response, request)
}

export const privacy = { drop: ['address'], hash: ['phone'], key: { env: 'PRIVACY_KEY' } }
