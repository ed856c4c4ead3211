import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { move } from '../support/commands.ts'
import { aFullMirror, aSqliteMirror } from '../support/full-mirror.ts'
import { rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { aPostgresMirror } from '../support/postgres/statement.ts'

const CUSTOMERS = 'SELECT organization, id, name, removed_at, updated_at FROM customers ORDER BY organization, id'

const STOPPED = 'Stopped as asked. Nothing was copied.\n'

test('a mirror moves to PostgreSQL and back, whole, and each time the command names the line to change', async () => {
  const file = await aFullMirror()
  const [there, back] = [aPostgresMirror(), join(dirname(file), 'again', 'customers.db')]

  const gone = await move(file, there)
  const returned = await move(there, back, '--json')

  expect(gone).toMatchObject({ code: 0, stderr: '' })
  expect(gone.stdout).toContain(
    '73 customers of 2 organizations, 63 changes, 9 runs, 1 reject\nEvery row was read again there',
  )
  expect(gone.stdout).toContain(`  mirror: ${JSON.stringify(there)}\n`)
  expect(JSON.parse(returned.stdout)).toMatchObject({
    schemaVersion: 1,
    moved: { to: back, organizations: 2, rows: { customers: 73 }, setting: { line: `mirror: "${back}"` } },
  })
  expect(rowsOf(there, CUSTOMERS)).toEqual(rowsOf(file, CUSTOMERS))
  expect(rowsOf(back, CUSTOMERS)).toEqual(rowsOf(file, CUSTOMERS))
  expect(statSync(back).mode & 0o777).toBe(0o600)
  expect(readdirSync(dirname(back)).toSorted()).toEqual(['customers.db'])
})

test('a place that holds a mirror is left as it is', async () => {
  const [file, other] = [await aFullMirror(), await aFullMirror()]
  const there = aPostgresMirror()
  await move(file, there)

  const again = await move(other, there)
  const back = await move(there, file)

  expect(again).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('holds a mirror already') })
  expect(back).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(`${file}: is there already`) })
})

test('a mirror with a run under way is not moved, in either direction', async () => {
  const mirror = await aSqliteMirror()
  const there = aPostgresMirror()
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })
  const stderr = expect.stringMatching(/^acme: run 1 .*is mirroring it now, so it cannot be moved/)
  expect(await move(mirror.file, there)).toMatchObject({ code: 6, stdout: '', stderr })

  tamper(mirror.file, 'DELETE FROM leases')
  expect((await move(mirror.file, there)).code).toBe(0)
  tamper(there, `INSERT INTO leases VALUES ('acme', 1, 'another', extract(epoch FROM now()) * 1000 + 60000)`)
  const back = join(dirname(mirror.file), 'back.db')
  expect(await move(there, back)).toMatchObject({ code: 6, stdout: '', stderr })
  expect(existsSync(back)).toBe(false)

  // Taken while the clock of the server was ahead, by a process that ended.
  tamper(there, `UPDATE leases SET expires_at_ms = expires_at_ms + 31536000000`)
  expect((await move(there, back)).code).toBe(0)
})

test('a move that is stopped leaves nothing, and can be started again', async () => {
  const file = await aFullMirror()
  const there = aPostgresMirror()
  const back = join(dirname(file), 'back.db')

  expect(await move(file, there, AbortSignal.abort())).toMatchObject({ stdout: '', stderr: STOPPED })
  expect(valueOf(there, 'SELECT count(*) FROM runs')).toBe(0)
  expect((await move(file, there)).code).toBe(0)
  writeFileSync(join(dirname(file), '.back.db.0123456789abcdef.unfinished'), 'of a move that was killed')
  expect(await move(there, back, AbortSignal.abort())).toMatchObject({ stdout: '', stderr: STOPPED })
  expect(readdirSync(dirname(file)).filter((name) => name.includes('back'))).toEqual([])
  expect((await move(there, back)).code).toBe(0)
})
