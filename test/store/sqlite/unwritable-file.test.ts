import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { played, type Played } from '../../service/a-sandbox.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'
import { aMirrorForOthers, aPlaceForOthers, makeReadOnly, OTHER_USER, runAsOther } from '../../support/unprivileged.ts'

describe.skipIf(OTHER_USER === undefined)('in a folder that this user cannot write', () => {
  test('a mirror at rest is read by status, runs, a dry run and publish too', async () => {
    const source = await aMirrorForOthers()
    const folder = join(temporaryFolder(), 'left')
    chmodSync(dirname(folder), 0o755)
    mkdirSync(folder)
    const file = join(folder, 'customers.db')
    copyFileSync(source, file)
    const { acme } = await played(undefined, { customers: 7 })
    const config = join(folder, 'customer-mirror.yaml')
    writeFileSync(config, configurationOf(acme))
    makeReadOnly(folder)

    const status = await runAsOther(['status', '--json'], folder)
    expect(status).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(status.stdout).organizations).toMatchObject([{ active: 5 }])
    const runs = await runAsOther(['runs', '--json'], folder)
    expect(runs).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(runs.stdout).runs).toMatchObject([{ organization: 'acme' }])
    const rehearsed = await runAsOther(['sync', '--dry-run', '--json'], folder)
    expect(rehearsed.code).toBe(0)
    // It knows which customers there were.
    expect(JSON.parse(rehearsed.stdout).runs).toMatchObject([{ inserted: 7, reasons: ['older-list'] }])
    const published = await runAsOther(['publish', join(aPlaceForOthers(), 'copies', 'customers.db'), '--json'], folder)
    expect(published).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(published.stdout).copies[0].organizations).toMatchObject([{ active: 5 }])
  })
})

function configurationOf({ baseUrl, apiKey, secret }: Played['acme']): string {
  return JSON.stringify({ mirror: './customers.db', organizations: [{ id: 'acme', baseUrl, apiKey, secret }] })
}
