import { describe, expect, test } from 'vitest'
import { acme, configOf, mistakesIn } from '../configuration-folder.ts'

const SHARED = 'schedule: { cron: "0 2 * * *", timezone: Europe/Paris, quick: "*/15 * * * *" }\n'

describe('when quick runs are made', () => {
  test.each([
    ['the line of all organizations', SHARED, [], '*/15 * * * *'],
    ['a line of its own', SHARED, ['schedule: { quick: "0 8-18 * * 1-5" }'], '0 8-18 * * 1-5'],
    ['none, although the others have one', SHARED, ['schedule: { quick: never }'], undefined],
    ['none without such a line', 'schedule: { cron: "0 2 * * *", timezone: UTC }\n', [], undefined],
    [
      'a line of its own alone',
      'schedule: { cron: "0 2 * * *", timezone: UTC }\n',
      ['schedule: { quick: "0 9 * * *" }'],
      '0 9 * * *',
    ],
  ])('an organization has %s', async (_what, shared, own, quick) => {
    const [organization] = (await configOf(shared + acme(...own))).organizations

    expect(organization?.schedule).toMatchObject({ cron: '0 2 * * *', spreadMs: 0 })
    expect(organization?.schedule?.quick).toBe(quick)
  })

  test.each([
    [
      'four fields',
      '*/15 * * *',
      'must have five fields, such as "*/15 * * * *" for every quarter of an hour, or be never',
    ],
    ['minute 75', '75 * * * *', 'must have a number from 0 to 59 as minute (field 1 of five)'],
  ])('%s as a quick line is reported where it stands', async (_what, line, message) => {
    const text = `schedule: { cron: "0 2 * * *", timezone: UTC, quick: "${line}" }\n`

    expect(await mistakesIn(text + acme())).toEqual([`customer-mirror.yaml:1:54 schedule.quick: ${message}`])
  })

  test('a quick line without a line for the nights is unfinished', async () => {
    expect(await mistakesIn(acme('schedule: { quick: "*/15 * * * *", timezone: UTC }'))).toEqual([
      'customer-mirror.yaml:6:15 organizations.0.schedule.cron: is missing, and there is no schedule at the top level to take it from',
    ])
  })
})
