import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../../bench/postgres-server.ts'
import { measureScale } from '../../bench/scale/measure-scale.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('what the nights of an organization take is measured in a file and on a server', async () => {
  const server = await startPostgres({ isDurable: false })
  onTestFinished(() => server.close())
  const said: string[] = []

  const { sqlite, atOnce, postgres } = await measureScale({
    customers: 300,
    folder: temporaryFolder(),
    postgres: server.url,
    say: (text) => said.push(text),
  })

  expect(said).toHaveLength(3)
  for (const program of [...Object.values(sqlite.nights), atOnce.rest])
    expect(program).toMatchObject({ requests: expect.any(Number), fileBytes: expect.any(Number) })
  for (const { program, server: work } of Object.values(postgres.nights)) {
    expect(program.requests).toBe(sqlite.nights.rest.requests)
    expect(work.transactions).toBeGreaterThan(0)
    expect(work.networkBytes).toBeGreaterThan(1000)
  }
  expect(postgres.nights.load.server.walBytes).toBeGreaterThan(postgres.nights.rest.server.walBytes)
  expect(Object.keys(postgres.storage)).toContain('customers')
  // Measured again in the same place, it would be no initial sync.
  await expect(
    measureScale({ customers: 300, folder: temporaryFolder(), postgres: server.url, say: () => {} }),
  ).rejects.toThrow(/must be empty/)
})
