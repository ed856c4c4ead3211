import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acme, configOf, mistakesIn } from './configuration-folder.ts'

const withPublish = (publish: string) => `publish: ${publish}\n${acme()}`

describe('publish in the configuration', () => {
  test('without it nothing is published', async () => {
    expect((await configOf(acme())).publish).toBeUndefined()
  })

  test('the file is relative to the folder of the configuration', async () => {
    const { file, publish } = await configOf(withPublish('{ file: ./copies/readers.db }'))

    expect(publish).toEqual({
      file: join(dirname(file), 'copies', 'readers.db'),
      group: undefined,
      keep: undefined,
      splitBy: undefined,
      withoutPersonalData: false,
    })
  })

  test('all settings', async () => {
    const { publish } = await configOf(
      withPublish(
        '{ file: "/srv/{organization}/x.db", group: "readers-{organization}", keep: 7, splitBy: organization, withoutPersonalData: true }',
      ),
    )

    expect(publish).toEqual({
      file: '/srv/{organization}/x.db',
      group: 'readers-{organization}',
      keep: 7,
      splitBy: 'organization',
      withoutPersonalData: true,
    })
    expect((await configOf(withPublish('{ file: x.db, group: 1005 }'))).publish?.group).toBe(1005)
  })

  test.each([
    ['{}', '1:10 publish.file: is missing'],
    ['{ file: x.db, kep: 7 }', '1:24 publish.kep: unknown key (did you mean "keep"?)'],
    ['{ file: x.db, split_by: organization }', '1:24 publish.split_by: unknown key (did you mean "splitBy"?)'],
    [
      '{ file: x.db, splitBy: organisation }',
      '1:33 publish.splitBy: must be one of organization (did you mean "organization"?)',
    ],
    ['{ file: x.db, keep: -1 }', '1:30 publish.keep: must be a whole number from 0 to 1000'],
    ['{ file: x.db, keep: 1.5 }', '1:30 publish.keep: must be a whole number from 0 to 1000'],
    ['{ file: x.db, withoutPersonalData: "yes" }', '1:45 publish.withoutPersonalData: must be true or false'],
    ['{ file: copies/ }', '1:18 publish.file: must name a file, such as ./copies/customers.db, and not a folder'],
    ['{ file: ~/x.db }', '1:18 publish.file: must be a full path: ~ is not expanded here'],
    ['{ file: "{org}.db" }', '1:18 publish.file: may hold {organization}, and no other name in braces'],
    ['{ file: "{organization}.db" }', '1:18 publish.file: holds {organization}, which needs splitBy: organization'],
    [
      '{ file: x.db, group: "a-{organization}" }',
      '1:31 publish.group: holds {organization}, which needs splitBy: organization',
    ],
    [
      '{ file: x.db, group: [a] }',
      '1:31 publish.group: must be the name or the number of a group, such as analysts or 1005',
    ],
    [
      '{ file: x.db, group: a b }',
      '1:31 publish.group: must be the name or the number of a group, such as analysts or 1005',
    ],
    [
      '{ file: x.db, group: -1 }',
      '1:31 publish.group: must be the name or the number of a group, such as analysts or 1005',
    ],
    ['x.db', '1:10 publish: must be a mapping of keys to values'],
  ])('%s is a mistake, reported where it stands', async (written, expected) => {
    expect(await mistakesIn(withPublish(written))).toEqual([`customer-mirror.yaml:${expected}`])
  })

  test('in an organization it is in the wrong place', async () => {
    expect(await mistakesIn(acme('publish: { file: x.db }'))).toEqual([
      'customer-mirror.yaml:6:5 organizations.0.publish: belongs at the top level',
    ])
  })
})
