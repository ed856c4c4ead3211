import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ourScan } from '../../bench/scoreboard/our-scan.ts'
import { scoreboard } from '../support/scoreboard.ts'

test('where a plain loop loses customers and reports success, the scan loses none', async () => {
  const { code, text, rows } = await scoreboard(
    ['still', 'insert-delete', 'ties', 'count-lies', 'page-1-always'],
    ourScan,
    '--customers',
    '400',
  )

  expect(code).toBe(0)
  expect(Object.keys(rows)).toHaveLength(5)
  for (const { scan } of Object.values(rows)) expect(scan).toMatchObject({ lost: '0', removed: '0' })
  expect(rows['still']).toMatchObject({ loop: { lost: '0', removed: '0', said: 'success' }, scan: { said: 'proven' } })
  expect(Number(rows['insert-delete']?.loop.lost)).toBeGreaterThan(0)
  expect(Number(rows['insert-delete']?.loop.removed)).toBeGreaterThan(0)
  expect(rows['insert-delete']?.scan.said).toBe('proven')
  expect(rows['count-lies']).toMatchObject({ loop: { lost: '5', said: 'success' }, scan: { said: 'proven' } })
  expect(rows['ties']?.scan.said).toMatch(/proven|settled/)
  expect(rows['page-1-always']).toMatchObject({ loop: { lost: '300', said: 'success' } })
  expect(rows['page-1-always']?.scan.said).toMatch(/page-mismatch.*300 missing as said/)
  expect(text).toContain('reported success in 4 of 5 scenarios')
  expect(text).toContain('Our scan: 0 lost, 0 wrongly removed, never proven or settled against its definition')
})

test('a throttled scan waits and is proven, also when two organizations share the limit', async () => {
  const { code, rows } = await scoreboard(['throttle', 'shared-throttle'], ourScan, '--customers', '400')

  expect(code).toBe(0)
  expect(rows['throttle']?.scan.said).toBe('proven')
  expect(rows['shared-throttle']?.scan.said).toBe('proven')
})

test('the same seed gives the same table, and another one another', async () => {
  const table = async (seed: string) =>
    (await scoreboard(['insert-delete', 'move'], ourScan, '--concurrency', '1', '--customers', '300', '--seed', seed))
      .text
  const one = await table('a')

  expect(await table('a')).toBe(one)
  expect(await table('b')).not.toBe(one)
})

test('the program ends with 2 when it does not understand, and says why on standard error', async () => {
  const program = fileURLToPath(new URL('../../bench/scoreboard.ts', import.meta.url))
  const ended = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [program, '--only', 'nothing'], (error, stdout, stderr) => {
      resolve({ code: error?.code, stdout, stderr })
    })
  })

  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toContain('There is no scenario "nothing"')
})

test('one unreadable position is reported as a hole, and no other customer is missing', async () => {
  const { code, rows } = await scoreboard(['poison'], ourScan, '--customers', '400')

  expect(code).toBe(0)
  expect(rows['poison']).toMatchObject({ scan: { lost: '0', said: 'unproven (hole); 1 hole; 1 missing as said' } })
})
