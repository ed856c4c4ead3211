import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { acme, configOf, mistakesIn } from './configuration-folder.ts'

const OF_FILES =
  'is about a copy in a file: remove it. Parquet and a bucket have a file or an object for each organization'

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
      withoutPersonalData: false,
    })
  })

  test('all settings', async () => {
    const { publish } = await configOf(
      withPublish(
        '{ file: "/srv/{organization}/x.db", group: "readers-{organization}", keep: 7, withoutPersonalData: true }',
      ),
    )

    expect(publish).toEqual({
      file: '/srv/{organization}/x.db',
      group: 'readers-{organization}',
      keep: 7,
      withoutPersonalData: true,
    })
    expect((await configOf(withPublish('{ file: x.db, group: 1005 }'))).publish?.group).toBe(1005)
  })

  test('a bucket', async () => {
    expect((await configOf(withPublish('{ to: s3://analytics, withoutPersonalData: true }'))).publish).toMatchObject({
      to: { bucket: 'analytics', prefix: '' },
      withoutPersonalData: true,
    })
  })

  test('several places at once', async () => {
    const { file, publish } = await configOf(
      withPublish('{ file: x.db, parquet: ./copies/parquet, to: s3://analytics/cm, group: analysts }'),
    )

    expect(publish).toMatchObject({
      file: join(dirname(file), 'x.db'),
      parquet: join(dirname(file), 'copies', 'parquet'),
      to: { bucket: 'analytics', prefix: 'cm' },
      group: 'analysts',
    })
  })

  test.each([
    [
      '{}',
      '1:10 publish.file: is missing: name the copy, a folder as parquet, or a place in object storage as to: s3://bucket/prefix',
    ],
    ['{ file: x.db, kep: 7 }', '1:24 publish.kep: unknown key (did you mean "keep"?)'],
    ['{ file: x.db, keep: -1 }', '1:30 publish.keep: must be a whole number from 0 to 1000'],
    ['{ file: x.db, keep: 1.5 }', '1:30 publish.keep: must be a whole number from 0 to 1000'],
    ['{ file: x.db, withoutPersonalData: "yes" }', '1:45 publish.withoutPersonalData: must be true or false'],
    ['{ file: copies/ }', '1:18 publish.file: must name a file, such as ./copies/customers.db, and not a folder'],
    ['{ file: ~/x.db }', '1:18 publish.file: must be a full path: ~ is not expanded here'],
    ['{ file: "{org}.db" }', '1:18 publish.file: may hold {organization}, and no other name in braces'],
    [
      '{ file: x.db, group: "a-{organization}" }',
      '1:31 publish.group: holds {organization}, and the name of the file does not',
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
    ['{ to: analytics/x }', '1:16 publish.to: must be an address such as s3://bucket/prefix'],
    [
      '{ to: "s3://analytics/{organization}" }',
      '1:16 publish.to: names a prefix that not every program reads: use letters, digits and . _ - = between single slashes, at most 500',
    ],
    [
      '{ file: s3://analytics/x }',
      '1:18 publish.file: must be on this machine; a place in object storage is named as to',
    ],
    [
      '{ parquet: s3://analytics/x }',
      '1:21 publish.parquet: must be on this machine; a place in object storage is named as to',
    ],
    [
      '{ parquet: "copies/{organization}" }',
      '1:21 publish.parquet: must not hold braces: each organization has a folder of its own in it',
    ],
    ['{ parquet: copies, keep: 7 }', `1:35 publish.keep: ${OF_FILES}`],
    [
      '{ file: "{organization}.db", parquet: copies, group: "a-{organization}" }',
      '1:63 publish.group: holds {organization}, and the folder of parquet has one group',
    ],
    ['{ to: s3://analytics/x, group: analysts }', `1:41 publish.group: ${OF_FILES}`],
    ['{ to: s3://analytics/x, keep: 7 }', `1:40 publish.keep: ${OF_FILES}`],
    [
      '{ to: s3://analytics/x, accessKeyId: AKIA }',
      '1:34 publish.accessKeyId: unknown key (known are file, parquet, to, group, keep, withoutPersonalData)',
    ],
  ])('%s is a mistake, reported where it stands', async (written, expected) => {
    expect(await mistakesIn(withPublish(written))).toEqual([`customer-mirror.yaml:${expected}`])
  })

  test('in an organization it is in the wrong place', async () => {
    expect(await mistakesIn(acme('publish: { file: x.db }'))).toEqual([
      'customer-mirror.yaml:6:5 organizations.0.publish: belongs at the top level',
    ])
  })
})
