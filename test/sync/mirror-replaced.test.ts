import { existsSync, readFileSync, renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openMirror, type Mirror } from '../../src/store/mirror.ts'
import { makeNight } from '../support/listed-source.ts'
import { lose } from '../support/backing-up.ts'
import { customers } from '../support/builders.ts'
import { aMirror, aMirrorFile, tamper, valueOf, temporaryFolder } from '../support/mirror-file.ts'

const list = customers(1, 60)

describe.each(['an initial sync', 'a night'])('during %s', (occasion) => {
  test.each([
    ['deleted', unlinkSync, /was deleted or moved away while it was open.*a new mirror is made/],
    ['deleted with its journal', lose, /was deleted or moved away/],
    ['moved away', (file: string) => renameSync(file, `${file}.old`), /was deleted or moved away/],
    ['replaced by a backup', putInPlace, /was replaced by another file.*the file that is there now is used/],
  ])('a mirror that is %s ends the run, which is not complete', async (_how, meddle, message) => {
    const mirror = await aMirror()
    if (occasion === 'a night') await aRun(mirror, 0)

    const { report, error } = await aRun(mirror, 1, () => meddle(mirror.file))

    const said = expect.stringMatching(message)
    expect(error).toMatchObject({ name: 'MirrorUnusable', code: 'replaced', message: said })
    const failed = { status: 'failed', proof: 'unproven', missing: 0, removed: 0, error: { code: 'replaced' } }
    expect(report).toMatchObject(failed)
    expect((await aRun(mirror, 2)).error).toMatchObject({ code: 'replaced' })
  })
})

test('a backup that is restored during a run stays unchanged, without the WAL of the file before it', async () => {
  const mirror = await openMirror(aMirrorFile())
  const backup = join(temporaryFolder(), 'backup.db')
  await aRun(mirror, 0)
  tamper(mirror.file, 'VACUUM INTO ?', backup)
  const before = readFileSync(backup)
  await aRun(mirror, 1, (answered) => answered === 2 && renameSync(backup, mirror.file), customers(31, 400))
  await mirror.close()

  expect(existsSync(`${mirror.file}-wal`)).toBe(false)
  expect(readFileSync(mirror.file).equals(before)).toBe(true)
  const again = await aMirror(mirror.file)
  expect(await again.findDamage()).toEqual([])
  expect((await aRun(again, 2)).report).toMatchObject({ status: 'complete', unchanged: 60 })
})

test.each([
  ['a link that leads to another file', replaceLink],
  ['a file that is put in the place of the one the link leads to', (_: string, real: string) => putInPlace(real)],
])('behind a symbolic link %s replaces the mirror', async (_, replace) => {
  const [link, real] = [join(temporaryFolder(), 'link.db'), join(temporaryFolder(), 'real.db')]
  symlinkSync(real, link)
  const mirror = await openMirror(link)
  const reader = await openMirror(real)
  onTestFinished(() => reader.close())
  const { report } = await aRun(mirror, 0, (answered) => answered === 3 && replace(link, real))
  await mirror.close()

  expect(report.error).toMatchObject({ code: 'replaced', message: expect.stringMatching(/another file/) })
  if (replace !== replaceLink) return
  // The file before it stays whole.
  expect(existsSync(`${real}-wal`)).toBe(true)
  expect(await reader.findDamage()).toEqual([])
  expect(Number(valueOf(real, 'SELECT count(*) FROM customers'))).toBeGreaterThanOrEqual(10)
})

function replaceLink(link: string): void {
  unlinkSync(link)
  symlinkSync(aBackup(), link)
}

/** A run over a list; `meddle` is called with the number of pages answered before each is handed over. */
function aRun(mirror: Mirror, night: number, meddle: (answered: number) => unknown = () => {}, listed = list) {
  const handedOver = (answered: number) => {
    meddle(answered + 1)
    return listed
  }
  return makeNight(mirror, night, { list: handedOver, told: { concurrency: 1 } })
}

/** A mirror with nothing in it, that no program has open. */
function aBackup(): string {
  const backup = join(temporaryFolder(), 'backup.db')
  new Database(backup).close()
  return backup
}

function putInPlace(file: string): void {
  renameSync(aBackup(), file)
}
