import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { reportCommand } from '../../src/cli/status.ts'
import { configuredPlans, type PublishPlan, publishApart } from '../../src/copies/publish-plan.ts'
import { readConfig } from '../../src/config/read-config.ts'
import { aMirrorOf, night } from '../store/nights.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { aFullMirror } from '../support/full-mirror.ts'
import { rowsOf, tamper } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { failing, runCommand } from '../support/run-cli.ts'
import { anAwayOrganization, aWorkplace } from '../support/workplace.ts'

const report = (mirror: string, ...args: string[]) => runCommand(reportCommand, ['--mirror', mirror, ...args])

test('the figures of a mirror are those of its tables', async () => {
  const mirror = await aFullMirror()
  const { organizations } = JSON.parse((await report(mirror, '--json')).stdout)
  const counted = (sql: string) => rowsOf(mirror, sql)

  expect(organizations).toMatchObject(
    counted('SELECT organization, active, missing, removed FROM freshness ORDER BY organization'),
  )
  const acme = "organization = 'acme'"
  expect(organizations[0].days).toEqual(counted(`SELECT day, active FROM customers_daily WHERE ${acme} ORDER BY day`))
  expect(organizations[0].months).toEqual(
    counted(`SELECT substr(day, 1, 7) AS month, sum(added) AS added, sum(removed) AS removed, sum(changed) AS changed
      FROM customers_daily WHERE ${acme} GROUP BY 1 ORDER BY 1`),
  )
  expect(organizations[0].languages).toEqual(
    counted(
      `SELECT coalesce(language, '') AS name, count(*) AS count FROM active_customers WHERE ${acme} GROUP BY 1 ORDER BY 2 DESC, 1`,
    ),
  )
})

test('a run that failed under a clock a year ahead adds no days', async () => {
  const mirror = await aMirrorOf(customers(1, 3))
  await night(mirror, 365, [], { ending: { status: 'failed', reasons: ['failed'], readToEnd: false } })
  const { organizations } = JSON.parse((await report(mirror.file, '--json')).stdout)
  expect(organizations[0].days).toEqual([{ day: '2026-01-05', active: 3 }])
})

test('companies are counted by how many customers they have, whatever the case of their names, and never named', async () => {
  const of = (company: string | null, from: number, to: number) => customers(from, to, { company_name: company })
  const mirror = await aMirrorOf([
    ...of('Solo Ltd', 1, 1),
    ...of('Pair AG', 2, 2),
    ...of(' pair ag', 3, 3),
    ...of('Big', 4, 33),
    ...of(null, 34, 40),
  ])
  const { stdout } = await report(mirror.file, '--json')

  expect(JSON.parse(stdout).organizations[0].companies).toEqual([
    { name: 'one customer', count: 1 },
    { name: '2 to 4 customers', count: 1 },
    { name: '20 or more', count: 1 },
  ])
  for (const text of [stdout, (await report(mirror.file, '--html', '-')).stdout])
    expect(text).not.toMatch(/solo|pair|big/i)
})

test('a copy has the figures of its mirror; one without personal data has no companies', async () => {
  const mirror = await aFullMirror()
  const copyOf = (plan: Partial<PublishPlan>) => publishAll(aPlan(mirror, plan)).copies[0]?.file ?? ''
  const [whole, copied] = [await report(mirror, '--json'), await report(copyOf({}), '--json')]
  expect(JSON.parse(copied.stdout)).toEqual(JSON.parse(whole.stdout))

  const { code, stdout } = await report(copyOf({ withoutPersonalData: true }))

  expect(code).toBe(0)
  expect(stdout).toMatch(/^organization .*companies\nacme .* –\n/)
})

test('the page holds nothing of a customer, and what a service sends as a language is shown as text', async () => {
  const mirror = await aMirrorOf([aCustomer(1, { language: '<script>alert(1)</script>' }), ...customers(2, 9)])
  const { stdout } = await report(mirror.file, '--html', '-')

  expect(stdout).toContain('&lt;script&gt;alert(1)&lt;/scrip')
  expect(stdout).toContain('default-src &#39;none&#39;')
  const values = rowsOf(mirror.file, 'SELECT id, name, username, email, phone, address FROM customers').flatMap(
    Object.values,
  )
  expect(values.length).toBeGreaterThan(40)
  for (const value of values) expect(stdout).not.toContain(String(value))
})

test('an unknown organization is named with those that are there, the mirror is no place for a page, and without a view it has no figures', async () => {
  const mirror = await aFullMirror()

  const said = 'unknown organization "nobody": known are acme, globex'
  expect(await report(mirror, '--org', 'nobody')).toMatchObject(failing(2, said))
  expect(await report(mirror, '--html', mirror)).toMatchObject({ code: 2 })
  const page = join(dirname(mirror), 'report.html')
  expect(await report(mirror, '--html', page)).toMatchObject({ code: 0, stdout: '', stderr: '' })
  expect(statSync(page).mode & 0o777).toBe(0o600)
  tamper(mirror, 'DROP VIEW customers_daily')
  expect(await report(mirror)).toMatchObject(failing(7, 'customers_daily'))
})

test('publish.report writes the page beside each copy, for those who may read the copy, and replaces nothing else', async () => {
  const mirror = await aFullMirror()
  const { config: file } = aWorkplace([anAwayOrganization()], {
    mirror,
    publish: { file: 'copies/{organization}.db', report: true },
  })
  const [plan] = configuredPlans(await readConfig({ file, cwd: '/' }))
  if (plan === undefined || !('file' in plan)) throw new Error('no plan')
  const places = ['acme', 'globex'].map((name) => plan.file.replace('{organization}.db', `${name}.html`))
  mkdirSync(dirname(plan.file), { mode: 0o750 })
  writeFileSync(places[1] ?? '', 'my notes')
  const { copies, warnings } = await publishApart([plan], new AbortController())

  expect(copies).toHaveLength(2)
  expect(statSync(places[0] ?? '').mode & 0o777).toBe(0o400)
  expect(readFileSync(places[0] ?? '', 'utf8')).toContain('<h2>acme</h2>')
  expect(readFileSync(places[0] ?? '', 'utf8')).not.toContain('globex')
  expect(warnings).toEqual([
    `${places[1]}: is not of this program and was left as it is; the copy has no page of figures.`,
  ])
})
