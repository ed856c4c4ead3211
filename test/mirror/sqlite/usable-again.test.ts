import Database from 'better-sqlite3'
import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isUsableAgain } from '../../../src/mirror/mirror.ts'
import { aMirror } from '../../support/mirror-file.ts'

/** Each makes a mirror unusable, and returns what repairs it. */
const HARMED: [how: string, code: string, harm: (file: string) => () => void][] = [
  ['is locked by another program', 'mirror-locked', lock],
  ['was moved away', 'mirror-missing', moveAway],
  ['has a folder in its place', 'mirror-unreadable', (file) => moveAway(file, mkdirSync)],
  [
    'has another file in its place',
    'mirror-foreign',
    (file) => moveAway(file, (path) => writeFileSync(path, 'no mirror')),
  ],
  // As a full disk or one that is read-only keeps it from being written.
  ['has no room for a file beside it', 'mirror-full', (file) => noRoom(`${file}-room`)],
]

test.each(HARMED)(
  'a mirror that %s is usable again once that is repaired, and no file is left',
  async (_how, code, harm) => {
    const mirror = await aMirror()
    const { file } = mirror
    await mirror.close()
    const repair = harm(file)

    expect(await isUsableAgain(file, code)).toBe(false)

    repair()

    expect(await isUsableAgain(file, code)).toBe(true)
    expect(readdirSync(dirname(file)).filter((name) => name.endsWith('room'))).toEqual([])
  },
)

test('no look shows that a damaged mirror is repaired', async () => {
  const { file } = await aMirror()

  expect(await isUsableAgain(file, 'mirror-corrupt')).toBe(false)
})

function lock(file: string): () => void {
  const program = new Database(file)
  onTestFinished(() => void program.close())
  program.exec('BEGIN IMMEDIATE')
  return () => void program.exec('COMMIT')
}

/** Moves a mirror away, and has something else in its place. */
function moveAway(file: string, put: (file: string) => void = () => {}): () => void {
  renameSync(file, `${file}.away`)
  put(file)
  return () => {
    rmSync(file, { recursive: true, force: true })
    renameSync(`${file}.away`, file)
  }
}

function noRoom(name: string): () => void {
  mkdirSync(name)
  return () => rmdirSync(name)
}
