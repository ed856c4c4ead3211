import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { publishCopies } from '../../../src/copies/publish.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { aMirror, tamper, valueOf } from '../../support/mirror-file.ts'
import { aPlan, aSplitPlan, aSmallMirror, isRoot, publishAll, PUBLISHED_FILES } from '../../support/publishing.ts'
import { asPlainUser } from '../../support/run-cli.ts'
import { someOf } from '../../support/seeds.ts'

const mode = (path: string) => statSync(path).mode & 0o7777

test('who may read a copy the folder is made with 0750, and the copy is 0440, whatever the umask is', async () => {
  const plan = aPlan(await aSmallMirror())
  const file = join(dirname(plan.file), 'deeper', 'readers.db')
  publishAll({ ...plan, file })

  for (const folder of [dirname(plan.file), dirname(file)]) expect(mode(folder)).toBe(0o750)
  expect(mode(file)).toBe(0o440)
  expect(readdirSync(dirname(file)).toSorted()).toEqual(['metadata.json', 'readers.db'])
})

test('who may read a copy without personal data it is 0444, in a folder that all may enter', async () => {
  const plan = aPlan(await aSmallMirror(), { withoutPersonalData: true })
  publishAll(plan)

  expect([mode(dirname(plan.file)), mode(plan.file)]).toEqual([0o755, 0o444])
})

test.runIf(isRoot)('who may read a copy the group owns it, by its name or its number', async () => {
  const mirror = await aSmallMirror()
  const [, name = '', , number = ''] = /^(games):([^:]*):(\d+)/m.exec(readFileSync('/etc/group', 'utf8')) ?? []
  for (const group of [name, number, Number(number)]) {
    const plan = aPlan(mirror, { group })
    publishAll(plan)

    expect(statSync(plan.file).gid).toBe(Number(number))
    expect(statSync(dirname(plan.file)).gid).toBe(Number(number))
  }
})

test.runIf(isRoot)(
  'who may read a copy an organization without a group of its own gets no copy, and the others get theirs',
  async () => {
    const mirror = await aMirror()
    for (const organization of ['gone', 'games']) await night(mirror, 0, customers(1, 3), { organization })
    const plan = aSplitPlan(mirror.file, { group: '{organization}' })
    const { copies, failed } = publishCopies(plan)

    expect(copies.map(({ organizations }) => organizations[0]?.organization)).toEqual(['games'])
    expect(failed).toEqual([
      expect.objectContaining({
        file: expect.stringContaining('-gone.db'),
        message: expect.stringContaining('there is no group gone on this machine'),
      }),
    ])
  },
)

test('who may read a copy an unknown group is refused before anything is written', async () => {
  const plan = aPlan(await aSmallMirror(), { group: 'no-such-group' })

  expect(() => publishCopies(plan)).toThrow(expect.objectContaining({ code: 'usage' }))
  expect(() => publishCopies(plan)).toThrow(/there is no group no-such-group on this machine/)
  expect(existsSync(dirname(plan.file))).toBe(false)
})

describe.runIf(isRoot && asPlainUser() !== undefined)('as another user', () => {
  /** Reads a copy with an SQLite that may write nowhere. */
  const read = (file: string, sql: string) =>
    execFileSync(
      process.execPath,
      [
        '-e',
        `console.log(new (require('better-sqlite3'))(process.argv[1], { readonly: true }).prepare(process.argv[2]).pluck().get())`,
        file,
        sql,
      ],
      {
        cwd: join(import.meta.dirname, '../../..'),
        uid: 65_534,
        gid: 60,
        encoding: 'utf8',
        env: {},
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ).trim()

  test('a member of the group reads it from a folder where nothing can be written, and other users do not', async () => {
    const plan = aPlan(await aSmallMirror(), { group: 60 })
    publishAll(plan)
    chmodSync(dirname(dirname(plan.file)), 0o755)
    chmodSync(dirname(plan.file), 0o555)

    expect(read(plan.file, 'SELECT count(*) FROM active_customers')).toBe('20')
    publishAll({ ...plan, group: 61 })
    expect(() => read(plan.file, 'SELECT 1')).toThrow(/unable to open/)
  })
})

test.each(
  someOf<[what: string, said: RegExp, make: (file: string, mirror: string) => string | void]>([
    ['the mirror itself', /is the mirror itself/, (_, mirror) => mirror],
    ['the WAL of the mirror', /is where SQLite keeps a part of a database/, (_, mirror) => `${mirror}-wal`],
    ['a hard link to the mirror', /is the mirror itself/, (file, mirror) => linkSync(mirror, file)],
    ['a link to the mirror', /is the mirror itself/, (file, mirror) => symlinkSync(mirror, file)],
    ['a link to nowhere', /is a symbolic link/, (file) => symlinkSync('/nowhere', file)],
    ['a folder', /is a folder; name a file in it/, (file) => mkdirSync(file)],
    ['a file in the folder of the mirror', /is the folder of the mirror/, (_, mirror) => join(dirname(mirror), 'x.db')],
    ['a text', /was not published by this program/, (file) => writeFileSync(file, 'notes of a person\n')],
    [
      'another SQLite file',
      /was not published by this program/,
      (file) => new Database(file).exec('CREATE TABLE t (x)').close() && undefined,
    ],
    [
      'another mirror',
      /was not published by this program/,
      (file, mirror) => writeFileSync(file, readFileSync(mirror)),
    ],
    [
      'a file with a journal beside it',
      /has readers.db-journal beside it/,
      (file) => writeFileSync(`${file}-journal`, 'x'),
    ],
    ['a pipe', /is not a file/, (file) => void execFileSync('mkfifo', [file])],
  ]),
)('a target that is not a copy is refused, and left as it is %s', async (_, said, make) => {
  const mirror = await aSmallMirror()
  tamper(mirror, 'PRAGMA wal_checkpoint')
  const { file, ...plan } = aPlan(mirror)
  mkdirSync(dirname(file), { mode: 0o750 })
  const target = make(file, mirror) ?? file
  const before = readdirSync(dirname(file))

  expect(() => publishCopies({ ...plan, file: target })).toThrow(expect.objectContaining({ code: 'usage' }))
  expect(() => publishCopies({ ...plan, file: target })).toThrow(said)
  expect(readdirSync(dirname(file))).toEqual(before)
  expect(valueOf(mirror, 'SELECT count(*) FROM customers')).toBe(20)
})

test('a target that is not a copy is refused, and left as it is a folder in which every user may write', async () => {
  const plan = aPlan(await aSmallMirror())
  mkdirSync(dirname(plan.file))
  chmodSync(dirname(plan.file), 0o1777)

  expect(() => publishCopies(plan)).toThrow(/users besides its owner may write there, and could replace the copy/)
  expect(readdirSync(dirname(plan.file))).toEqual([])
})

test.each([
  ['a pipe', (path: string) => void execFileSync('mkfifo', [path])],
  ['a folder', (path: string) => mkdirSync(path)],
  ['another file', (path: string) => writeFileSync(path, 'of someone')],
])(
  'a target that is not a copy is refused, and left as it is %s where the lock goes stops nothing, and stays',
  async (_, make) => {
    const plan = aPlan(await aSmallMirror())
    const folder = dirname(plan.file)
    mkdirSync(folder)
    make(join(folder, '.readers.db.writing'))

    publishAll(plan)

    expect(readdirSync(folder).toSorted()).toEqual(['.readers.db.writing', ...PUBLISHED_FILES])
  },
)

test('older copies as many as asked for are kept, named by their time; other files are left alone', async () => {
  const plan = aPlan(await aSmallMirror(), { keep: 2 })
  mkdirSync(dirname(plan.file), { mode: 0o750 })
  const foreign = [
    'readers-20200101T000000000Z.db',
    'readers-20200101T000000000Z.db.bak',
    'readers-acme.db',
    'notes.txt',
  ]
  for (const name of foreign) writeFileSync(join(dirname(plan.file), name), 'not a copy')
  const times: string[] = []
  for (let copy = 0; copy < 5; copy += 1) times.push(publishAll(plan).copies[0]?.publishedAt ?? '')
  const named = (at = '') => `readers-${at.replaceAll(/[-:.]/g, '').replace(' ', 'T')}Z.db`

  expect(readdirSync(dirname(plan.file)).toSorted()).toEqual(
    ['metadata.json', 'readers.db', named(times[2]), named(times[3]), ...foreign].toSorted(),
  )
  expect(valueOf(join(dirname(plan.file), named(times[3])), 'SELECT published_at FROM manifest')).toBe(times[3])
  expect(valueOf(plan.file, 'SELECT published_at FROM manifest')).toBe(times[4])
  expect(mode(join(dirname(plan.file), named(times[3])))).toBe(0o440)

  publishAll({ ...plan, keep: 0 })
  expect(readdirSync(dirname(plan.file)).toSorted()).toEqual(['metadata.json', 'readers.db', ...foreign].toSorted())
})
