import { describe, expect, test } from 'vitest'
import { mostQuickRequests } from '../../../src/quick-limit.ts'
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
    [
      'the line of the nights in other spaces',
      '0  2 * * * ',
      'is the same as cron, and then the whole list is read anyway: name moments between these nights, such as "*/15 * * * *"',
    ],
  ])('%s as a quick line is reported where it stands', async (_what, line, message) => {
    const text = `schedule: { cron: "0 2 * * *", timezone: UTC, quick: "${line}" }\n`

    expect(await mistakesIn(text + acme())).toEqual([`customer-mirror.yaml:1:54 schedule.quick: ${message}`])
  })

  test('nights of one organization at the moments of the quick runs of all are reported there', async () => {
    expect(await mistakesIn(SHARED + acme('schedule: { cron: "*/15 * * * *" }'))).toEqual([
      'customer-mirror.yaml:7:23 organizations.0.schedule.cron: is the same as quick of the schedule at the top level, and then the whole list is read anyway: change one of the two, or add quick: never',
    ])
  })

  test('a quick line without a line for the nights is unfinished', async () => {
    expect(await mistakesIn(acme('schedule: { quick: "*/15 * * * *", timezone: UTC }'))).toEqual([
      'customer-mirror.yaml:6:15 organizations.0.schedule.cron: is missing, and there is no schedule at the top level to take it from',
    ])
  })
})

describe('what a quick run may cost', () => {
  test.each([
    ['the limit of all organizations', 'quick: { maxRequests: 10% }\n', [], { share: 0.1 }],
    ['a limit of its own', 'quick: { maxRequests: 10% }\n', ['quick: { maxRequests: 200 }'], { requests: 200 }],
    ['a share with a fraction', '', ['quick: { maxRequests: "2.5 %" }'], { share: 0.025 }],
    ['the built-in limit', 'quick: {}\n', ['quick: {}'], { share: 0.05 }],
  ])('an organization has %s', async (_what, shared, own, maxRequests) => {
    expect((await configOf(shared + acme(...own))).organizations[0]?.quick).toEqual({ maxRequests })
  })

  test.each([
    ['a bare share', '{ maxRequests: 0.05 }', '23 quick.maxRequests: must be a share of a full scan such as 5%, or a'],
    ['a number in quotes', '{ maxRequests: "9" }', '23 quick.maxRequests: must be a share of a full scan such as 5%,'],
    ['nothing at all', '{ maxRequests: 0% }', '23 quick.maxRequests: must be a share of a full scan from 0.1% to 100%'],
    ['more than everything', '{ maxRequests: 101% }', '23 quick.maxRequests: must be a share of a full scan from'],
    ['nothing', '{ maxRequests: "" }', '23 quick.maxRequests: must be a share of a full scan such as 5%, or a'],
    ['a share below nothing', '{ maxRequests: -1% }', '23 quick.maxRequests: must be a share of a full scan such as'],
    ['a misspelt key', '{ maxRequest: 5% }', '10 quick.maxRequest: unknown key (did you mean "maxRequests"?)'],
    [
      'a cron line',
      '"*/15 * * * *"',
      '8 quick: must be a mapping such as { maxRequests: 5% }; the times of quick runs',
    ],
  ])('%s is reported where it stands', async (_what, written, expected) => {
    expect(await mistakesIn(`quick: ${written}\n${acme()}`)).toEqual([
      expect.stringContaining(`customer-mirror.yaml:1:${expected}`),
    ])
  })

  test('a limit under defaults is sent to the top level', async () => {
    expect(await mistakesIn(`defaults: { quick: { maxRequests: 5% } }\n${acme()}`)).toEqual([
      'customer-mirror.yaml:1:13 defaults.quick: belongs at the top level',
    ])
  })

  test.each([
    ['a share', { share: 0.05 }, 1153, 58],
    ['a share of a short list', { share: 0.05 }, 12, 40],
    ['a number', { requests: 7 }, 1153, 7],
  ])('%s becomes a number of requests', (_what, limit, fullScan, most) => {
    expect(mostQuickRequests(limit, fullScan)).toBe(most)
  })
})
