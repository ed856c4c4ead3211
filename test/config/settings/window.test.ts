import { expect, test } from 'vitest'
import { windowText } from '../../../src/config/settings/window.ts'
import { acme, configOf, mistakesIn } from '../configuration-folder.ts'

const NIGHTLY = 'cron: "0 2 * * *", timezone: Europe/Paris'

test.each([
  ['that pass midnight', '22:00-06:00', { fromMinute: 1320, toMinute: 360 }],
  ['with spaces', '01:30 - 05:00', { fromMinute: 90, toMinute: 300 }],
  ['until midnight', '20:00-24:00', { fromMinute: 1200, toMinute: 1440 }],
  ['of the whole day', '00:00-24:00', { fromMinute: 0, toMinute: 1440 }],
])('runs may start in hours %s', async (_what, written, window) => {
  const [organization] = (await configOf(`schedule: { ${NIGHTLY}, window: "${written}" }\n${acme()}`)).organizations

  expect(organization?.schedule?.window).toEqual(window)
  expect(windowText(window)).toBe(written.replaceAll(' ', ''))
})

test('an organization may have hours of its own', async () => {
  const text = `schedule: { ${NIGHTLY}, window: "22:00-06:00" }\n${acme('schedule: { window: "00:00-24:00" }')}`

  expect((await configOf(text)).organizations[0]?.schedule?.window).toEqual({ fromMinute: 0, toMinute: 1440 })
})

test.each([
  ['one time', '22:00', 'must be two times of a day with a dash between them, such as "22:00-06:00"'],
  ['an hour that no clock shows', '22:00-25:00', 'must be two times of a day with a dash between them'],
  ['hours without minutes', '22-6', 'must be two times of a day with a dash between them'],
  ['nothing', '', 'must be two times of a day with a dash between them'],
  ['one time in two forms', '22-22:00', 'must be two times of a day with a dash between them'],
  ['no time at all', '22:00-22:00', 'ends when it begins: write 00:00-24:00 for the whole day'],
])('%s is reported where it stands', async (_what, written, message) => {
  expect(await mistakesIn(`schedule: { ${NIGHTLY}, window: "${written}" }\n${acme()}`)).toEqual([
    expect.stringContaining(`customer-mirror.yaml:1:64 schedule.window: ${message}`),
  ])
})
