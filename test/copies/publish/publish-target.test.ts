import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { getegid } from 'node:process'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { publishCopies } from '../../../src/copies/publish.ts'
import { night } from '../../store/nights.ts'
import { customers } from '../../support/builders.ts'
import { heldPipe } from '../../support/failing-disk.ts'
import { aMirror, valueOf } from '../../support/mirror-file.ts'
import { aPlan, aSplitPlan, aSmallMirror, isRoot, publishAll } from '../../support/publishing.ts'
import { someOf } from '../../support/seeds.ts'

const mode = (path: string) => fs.statSync(path).mode & 0o7777

test.each<[string, Parameters<typeof aPlan>[1], number, number]>([
  ['its owner alone', {}, 0o700, 0o400],
  ['its owner and a group', { group: getegid?.() }, 0o750, 0o440],
  ['all, where it is without personal data', { withoutPersonalData: true }, 0o755, 0o444],
])('whatever the umask is, a copy may be read by %s', async (_, settings, folderMode, fileMode) => {
  const plan = aPlan(await aSmallMirror(), settings)
  const file = join(dirname(plan.file), 'deeper', 'readers.db')
  publishAll({ ...plan, file })

  expect([dirname(plan.file), dirname(file), file].map(mode)).toEqual([folderMode, folderMode, fileMode])
  expect(fs.readdirSync(dirname(file)).toSorted()).toEqual(['metadata.json', 'readers.db'])
})

test.runIf(isRoot)('the group owns a copy and its folder, by its name or its number', async () => {
  const mirror = await aSmallMirror()
  const [, name = '', , number = ''] = /^(games):([^:]*):(\d+)/m.exec(fs.readFileSync('/etc/group', 'utf8')) ?? []
  for (const group of [name, number, Number(number)]) {
    const { file } = aPlan(mirror)
    publishAll(aPlan(mirror, { file, group }))

    expect([file, dirname(file)].map((path) => fs.statSync(path).gid)).toEqual([Number(number), Number(number)])
  }
})

test.runIf(isRoot)(
  'an organization without a group of its own gets no copy, and the others get theirs in one folder',
  async () => {
    const mirror = await aMirror()
    for (const organization of ['gone', 'games', 'mail']) await night(mirror, 0, customers(1, 3), { organization })
    const { copies, failed } = publishCopies(aSplitPlan(mirror.file, { group: '{organization}' }))

    expect(copies.map(({ organizations }) => organizations[0]?.organization)).toEqual(['games', 'mail'])
    expect(copies.map(({ file }) => mode(dirname(file)))).toEqual([0o751, 0o751])
    expect(failed).toMatchObject([{ code: 'usage', file: expect.stringContaining('-gone.db') }])
  },
)

test('an unknown group is refused before anything is written', async () => {
  const plan = aPlan(await aSmallMirror(), { group: 'no-such-group' })

  expect(() => publishCopies(plan)).toThrow('there is no group no-such-group on this machine')
  expect(fs.existsSync(dirname(plan.file))).toBe(false)
})

const OPEN = /users besides its owner may write there, and could replace the copy/
const OTHERS = /was not published by this program/

test.each(
  someOf<[what: string, said: RegExp, make: (file: string, mirror: string) => string | void]>([
    ['the mirror itself', /is the mirror itself/, (_, mirror) => mirror],
    ['the WAL of the mirror', /is where SQLite keeps a part of a database/, (_, mirror) => `${mirror}-wal`],
    ['a hard link to the mirror', /is the mirror itself/, (file, mirror) => fs.linkSync(mirror, file)],
    ['a link to the mirror', /is the mirror itself/, (file, mirror) => fs.symlinkSync(mirror, file)],
    ['a link to nowhere', /is a symbolic link/, (file) => fs.symlinkSync('/nowhere', file)],
    ['a folder', /is a folder; name a file in it/, (file) => fs.mkdirSync(file)],
    ['a file in the folder of the mirror', /is the folder of the mirror/, (_, mirror) => join(dirname(mirror), 'x.db')],
    ['another mirror', OTHERS, (file, mirror) => fs.writeFileSync(file, fs.readFileSync(mirror))],
    ['a text', OTHERS, (file) => fs.writeFileSync(file, 'notes of a person\n')],
    ['another SQLite file', OTHERS, (file) => void new Database(file).exec('CREATE TABLE t (x)').close()],
    ['a pipe', /is not a file/, (file) => void heldPipe(file)],
    ['a file with a journal beside it', /has readers.db-journal/, (file) => fs.writeFileSync(`${file}-journal`, 'x')],
    ['a file in a folder in which every user may write', OPEN, (file) => fs.chmodSync(dirname(file), 0o1777)],
  ]),
)('a target that is not a copy is refused, and left as it is: %s', async (_, said, make) => {
  const mirror = await aSmallMirror()
  const { file, ...plan } = aPlan(mirror)
  fs.mkdirSync(dirname(file), { mode: 0o750 })
  const target = make(file, mirror) ?? file
  const before = fs.readdirSync(dirname(file))

  const refused = expect.objectContaining({ code: 'usage', message: expect.stringMatching(said) })
  expect(() => publishCopies({ ...plan, file: target })).toThrow(refused)
  expect(fs.readdirSync(dirname(file))).toEqual(before)
  expect(valueOf(mirror, 'SELECT count(*) FROM customers')).toBe(20)
})

test('older copies as many as asked for are kept, named by their time; other files are left alone', async () => {
  const plan = aPlan(await aSmallMirror(), { keep: 2 })
  const folder = dirname(plan.file)
  fs.mkdirSync(folder, { mode: 0o750 })
  const foreign = ['readers-20200101T000000000Z.db', 'readers-20200101T000000000Z.db.bak', 'readers-acme.db']
  for (const name of foreign) fs.writeFileSync(join(folder, name), 'not a copy')
  const times = Array.from({ length: 4 }, () => publishAll(plan).copies[0]?.publishedAt ?? '')
  const older = times.slice(1, 3).map((at) => `readers-${at.replaceAll(/[-:.]/g, '').replace(' ', 'T')}Z.db`)

  expect(fs.readdirSync(folder).toSorted()).toEqual(['metadata.json', 'readers.db', ...older, ...foreign].toSorted())
  for (const [index, name] of [...older, basename(plan.file)].entries()) {
    expect(valueOf(join(folder, name), 'SELECT published_at FROM manifest')).toBe(times[index + 1])
    expect(mode(join(folder, name))).toBe(0o400)
  }
  publishAll({ ...plan, keep: 0 })
  expect(fs.readdirSync(folder).toSorted()).toEqual(['metadata.json', 'readers.db', ...foreign].toSorted())
})
