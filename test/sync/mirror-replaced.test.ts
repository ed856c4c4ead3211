import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openLiveMirror } from '../../jobs/run/live-mirror.ts'
import type { Mirror, Standing } from '../../src/model/mirror.ts'
import { openMirror, rehearseMirror } from '../../src/store/mirror.ts'
import { mirrorOrganization, type Outcome } from '../../src/sync/mirror-organization.ts'
import { DAY_MS } from '../support/alike-nights.ts'
import { customers, START_MS } from '../support/builders.ts'
import { listedSource, mirroring, type PageSource } from '../support/listed-source.ts'
import { aMirror, aMirrorFile, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

const list = customers(1, 60)

describe.each(['an initial sync', 'a night'])('during %s', (occasion) => {
  test.each([
    [
      'deleted',
      (file: string) => unlinkSync(file),
      /was deleted or moved away while it was open.*a new mirror is made/,
    ],
    ['deleted with its journal', deleteAll, /was deleted or moved away/],
    ['moved away', (file: string) => renameSync(file, `${file}.old`), /was deleted or moved away/],
    [
      'replaced by a backup',
      (file: string) => renameSync(aBackup(), file),
      /was replaced by another file.*the file that is there now is used/,
    ],
  ])('a mirror that is %s ends the run, which is not complete', async (_how, meddle, message) => {
    const mirror = await aMirror()
    if (occasion === 'a night') await aRun(mirror, 0)

    const { report, error } = await aRun(mirror, 1, () => meddle(mirror.file))

    expect(error).toMatchObject({
      name: 'MirrorUnusable',
      code: 'replaced',
      message: expect.stringMatching(message),
    })
    expect(report).toMatchObject({ status: 'failed', proof: 'unproven', error: { code: 'replaced' } })
    expect(report).toMatchObject({ missing: 0, removed: 0 })
    expect((await aRun(mirror, 2)).error).toMatchObject({ code: 'replaced' })
  })
})

test('a mirror that is replaced when all was read ends the run all the same', async () => {
  const mirror = await aMirror()
  const last = () => 6
  const { report } = await aRun(mirror, 0, (answered) => answered === last() && unlinkSync(mirror.file))

  expect(report).toMatchObject({ status: 'failed', error: { code: 'replaced' } })
})

test('what the run had saved is in the file that was moved away, and the failure too', async () => {
  const mirror = await openMirror(aMirrorFile())
  const moved = `${mirror.file}.old`
  await aRun(mirror, 0, (answered) => answered === 3 && renameSync(mirror.file, moved))
  await mirror.close()

  expect(Number(valueOf(moved, 'SELECT count(*) FROM customers'))).toBeGreaterThanOrEqual(10)
  expect(rowsOf(moved, 'SELECT status, error_code FROM runs')).toEqual([{ status: 'failed', error_code: 'replaced' }])
  expect(existsSync(mirror.file)).toBe(false)
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

describe('behind a symbolic link', () => {
  test('a mirror is the same one from run to run, and its journal stays when it is closed', async () => {
    const { link, real } = aLink()
    const mirror = await openMirror(link)
    for (const night of [0, 1]) expect((await aRun(mirror, night)).report.status).toBe('complete')
    await mirror.close()

    expect(valueOf(real, 'SELECT count(*) FROM customers')).toBe(60)
  })

  test('a link that leads to another file replaces the mirror, and the file before it stays whole', async () => {
    const { link, real } = aLink()
    const mirror = await openMirror(link)
    const other = aBackup()
    const reader = await openMirror(real)
    onTestFinished(() => reader.close())
    const { report } = await aRun(mirror, 0, (answered) => {
      if (answered !== 3) return
      unlinkSync(link)
      symlinkSync(other, link)
    })
    await mirror.close()

    expect(report.error).toMatchObject({ code: 'replaced', message: expect.stringMatching(/another file/) })
    expect(existsSync(`${real}-wal`)).toBe(true)
    expect(await reader.findDamage()).toEqual([])
    expect(Number(valueOf(real, 'SELECT count(*) FROM customers'))).toBeGreaterThanOrEqual(10)
  })

  test('a file that is put in the place of the one the link leads to replaces the mirror', async () => {
    const { link, real } = aLink()
    const mirror = await aMirror(link)

    const { report } = await aRun(mirror, 0, (answered) => answered === 3 && renameSync(aBackup(), real))

    expect(report.error).toMatchObject({ code: 'replaced' })
  })
})

test('a rehearsal needs no file, and is not disturbed when the mirror goes', async () => {
  const mirror = await aMirror()
  await aRun(mirror, 0)
  const rehearsal = await rehearseMirror(mirror.file, ['acme'])
  onTestFinished(() => rehearsal.close())

  const { report } = await aRun(rehearsal, 1, () => deleteAll(mirror.file))

  expect(report).toMatchObject({ status: 'complete', unchanged: 60 })
})

describe('a mirror that is opened for long', () => {
  test('is created again by the next run after it was deleted, and until then cannot be read', async () => {
    const found: Standing[] = []
    const mirror = await aLiveMirror((standing) => found.push(standing))
    await aRun(mirror, 0)
    const { error } = await aRun(mirror, 1, (answered) => answered === 2 && deleteAll(mirror.file))

    expect(error).toMatchObject({ code: 'replaced' })
    await expect(mirror.listFreshness()).rejects.toMatchObject({ code: 'replaced' })
    expect(existsSync(mirror.file)).toBe(false)
    expect(found).toEqual([])
    expect((await aRun(mirror, 2)).report).toMatchObject({ status: 'complete', inserted: 60 })
    expect(found).toEqual(['none'])
    expect(await mirror.listRuns({ limit: 5 })).toHaveLength(1)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(60)
  })

  test('is the file that was put in its place, for the next run and for readers', async () => {
    const mirror = await aLiveMirror()
    await aRun(mirror, 0)
    const backup = join(temporaryFolder(), 'backup.db')
    tamper(mirror.file, 'VACUUM INTO ?', backup)
    await aRun(mirror, 1, undefined, customers(1, 90))

    renameSync(backup, mirror.file)

    expect(await mirror.listFreshness()).toMatchObject([{ organization: 'acme', active: 60 }])
    expect((await aRun(mirror, 2, undefined, customers(1, 90))).report).toMatchObject({
      status: 'complete',
      inserted: 30,
    })
    expect(await mirror.findDamage()).toEqual([])
    expect(valueOf(mirror.file, 'SELECT count(*) FROM customers')).toBe(90)
  })

  test('ends every run that began in the file before, while others begin in the new one', async () => {
    const mirror = await aLiveMirror()
    await aRun(mirror, 0)
    const globex = { organization: 'globex', list: customers(1001, 1040) }
    const inner: Outcome[] = []
    const { report } = await aRun(mirror, 1, async (answered) => {
      if (answered !== 2) return
      deleteAll(mirror.file)
      inner.push(await aRun(mirror, 1, undefined, globex.list, globex.organization))
    })

    expect(inner[0]?.report).toMatchObject({ status: 'complete', inserted: 40 })
    expect(report).toMatchObject({ status: 'failed', error: { code: 'replaced' } })
    expect(rowsOf(mirror.file, 'SELECT DISTINCT organization FROM customers')).toEqual([{ organization: 'globex' }])
    expect((await aRun(mirror, 2)).report).toMatchObject({ status: 'complete', inserted: 60 })
    expect(await mirror.findDamage()).toEqual([])
  })

  test('tries to open again a file that could not be opened', async () => {
    const mirror = await aLiveMirror()
    await aRun(mirror, 0)
    const backup = aBackup()
    deleteAll(mirror.file)
    symlinkSync(dirname(backup), mirror.file)

    expect((await aRun(mirror, 1)).error).toMatchObject({ code: 'foreign' })
    await expect(mirror.listFreshness()).rejects.toMatchObject({ code: 'foreign' })
    unlinkSync(mirror.file)
    expect((await aRun(mirror, 2)).report).toMatchObject({ status: 'complete', inserted: 60 })
  })

  test('that could not be opened again and is then deleted is not created by readers, and reported before a run creates it', async () => {
    const found: Standing[] = []
    const mirror = await aLiveMirror((standing) => found.push(standing))
    await aRun(mirror, 0)
    deleteAll(mirror.file)
    symlinkSync(temporaryFolder(), mirror.file)
    await expect(mirror.listFreshness()).rejects.toMatchObject({ code: 'foreign' })
    unlinkSync(mirror.file)

    await expect(mirror.listFreshness()).rejects.toMatchObject({ code: 'replaced' })
    expect(existsSync(mirror.file)).toBe(false)
    expect(found).toEqual(['another'])
    expect((await aRun(mirror, 1)).report).toMatchObject({ status: 'complete', inserted: 60 })
    expect(found).toEqual(['another', 'none'])
  })
})

async function aLiveMirror(onReplaced?: (found: Standing) => void): Promise<Mirror> {
  const mirror = await openLiveMirror(aMirrorFile(), { onReplaced })
  onTestFinished(() => mirror.close())
  return mirror
}

/** A run over a list; `meddle` is called with the number of pages answered before each is handed over. */
async function aRun(
  mirror: Mirror,
  night: number,
  meddle: (answered: number) => unknown = () => {},
  listed: readonly unknown[] = list,
  organization = 'acme',
): Promise<Outcome> {
  const whole = listedSource(listed)
  let answered = 0
  const source: PageSource = {
    search: (text, options) => whole.search(text, options),
    get counters() {
      return whole.counters
    },
    async readPage(window, options) {
      const page = await whole.readPage(window, options)
      answered += 1
      await meddle(answered)
      return page
    },
  }
  const now = () => START_MS + night * DAY_MS
  return mirrorOrganization(mirroring(mirror, source, { organization, concurrency: 1, now }))
}

/** A mirror with nothing in it, that no program has open. */
function aBackup(): string {
  const backup = join(temporaryFolder(), 'backup.db')
  const made = new Database(backup)
  made.close()
  return backup
}

function aLink(): { link: string; real: string } {
  const folder = temporaryFolder()
  const [link, real] = [join(folder, 'link.db'), join(temporaryFolder(), 'real.db')]
  symlinkSync(real, link)
  return { link, real }
}

function deleteAll(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}
