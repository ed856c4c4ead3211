import Database from 'better-sqlite3'
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { forgetCommand } from '../../src/cli/forget.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { openMirror } from '../../src/store/mirror.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { dump, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { temporaryFolder } from '../support/temp-folder.ts'
import { aSandbox, aWorkplace, organizationsOf, type Workplace } from '../support/workplace.ts'

const document = z.strictObject({
  schemaVersion: z.literal(1),
  organization: z.string(),
  id: z.uuid(),
  forgottenAt: z.iso.datetime(),
  wasForgotten: z.boolean(),
  deleted: z.strictObject({ customers: z.int(), changes: z.int(), rejects: z.int() }),
  erased: z.enum(['erased', 'busy', 'held']),
  copies: z.array(z.string()),
  replaced: z.array(z.string()),
})

type Person = Sandbox['organizations'][number]['customers'][number]

let workplace: Workplace
let copy: string
let person: Person

/** The files of the mirror and of its copies after two nights, made once for all tests. */
let kept: ReturnType<typeof filesIn>[] | undefined

function filesIn(folder: string) {
  return readdirSync(folder).map((name) => {
    const file = join(folder, name)
    return { name, bytes: readFileSync(file), mode: statSync(file).mode & 0o777 }
  })
}

/** A mirror of forty customers and its copy for readers; the person is in the middle of the list. */
beforeEach(async () => {
  const sandbox = await aSandbox({ customers: [40] })
  copy = join(temporaryFolder(), 'readers.db')
  workplace = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' }, publish: { file: copy, keep: 3 } })
  const folders = [dirname(workplace.mirror), dirname(copy)]
  if (kept === undefined) {
    const withoutCopy = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' }, mirror: workplace.mirror })
    for (let night = 0; night < 2; night += 1) {
      await runCommand(syncCommand, ['--config', withoutCopy.config])
      publishAll(aPlan(workplace.mirror, { file: copy, keep: 3 }))
    }
    kept = folders.map(filesIn)
  } else {
    for (const [place, folder] of folders.entries())
      for (const { name, ...file } of kept[place] ?? []) writeFileSync(join(folder, name), file.bytes, file)
  }
  const found = sandbox.organizations[0]?.customers[20]
  if (found === undefined) throw new Error('The sandbox has too few customers.')
  person = found
})

const sync = (...args: string[]) => runCommand(syncCommand, [...args, '--config', workplace.config])
const runsIn = (stdout: string) => z.object({ runs: z.array(z.looseObject({})) }).parse(JSON.parse(stdout)).runs
const forget = (...args: string[]) => runCommand(forgetCommand, [...args, '--config', workplace.config])

/** The files of a folder whose bytes hold the id, the address or the phone number of the person. */
function filesWithThePerson(folder: string): string[] {
  const texts = [person.id, person.email, person.phone].map((text) => Buffer.from(text))
  return readdirSync(folder).filter((name) => texts.some((text) => readFileSync(join(folder, name)).includes(text)))
}

test('deletes the customer from every byte of the mirror, and says what it cannot reach', async () => {
  expect(filesWithThePerson(dirname(workplace.mirror))).toContain('customers.db')
  const killed = join(dirname(copy), '.readers.db.0123456789abcdef.unfinished')
  writeFileSync(killed, readFileSync(copy))

  const { code, stdout, stderr } = await forget('acme', person.id.toUpperCase())

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(filesWithThePerson(dirname(workplace.mirror))).toEqual([])
  expect(stdout).toContain('acme: the customer is forgotten. Deleted: 1 customer, 0 changes, 0 rejects.\n')
  expect(stdout).toContain(`No byte of ${workplace.mirror} holds this customer.\n`)
  expect(stdout).toContain('- the service: as long as it lists the customer')
  expect(stdout).toContain(
    '- backups of the mirror, the mirror that it was moved from, copies that were published to other places, exports',
  )
  expect(stdout).toMatch(
    new RegExp(
      `copies for readers, made before\\..*:\n +${copy}\n +${copy.slice(0, -3)}-\\d+T\\d+Z\\.db\n +${killed}\n`,
    ),
  )
  expect(stdout).toContain(`DELETE FROM customers WHERE organization = 'acme' AND id = '${person.id}';\n`)
  for (const value of [person.name, person.email, person.phone, person.username]) expect(stdout).not.toContain(value)
})

test('deletes nothing where it cannot find out which copies hold the customer', async () => {
  rmSync(dirname(copy), { recursive: true })
  writeFileSync(dirname(copy), '')
  const { code, stderr } = await forget('acme', person.id)

  expect({ code, stderr }).toEqual({
    code: 7,
    stderr: expect.stringContaining(`${dirname(copy)}: not a directory (scandir, ENOTDIR). Check the name`),
  })
  expect(filesWithThePerson(dirname(workplace.mirror))).toContain('customers.db')
})

test('the next runs count the record as suppressed and keep nothing of it, and so do copies made from then on', async () => {
  await forget('acme', person.id)

  // Each run publishes.
  const { code, stdout, stderr } = await sync('--json')

  expect(code).toBe(0)
  expect(runsIn(stdout)[0]).toMatchObject({ proof: 'proven', suppressed: 1, unchanged: 39, inserted: 0, rejected: 0 })
  expect(stderr).toBe('')
  expect(stdout + stderr).not.toContain(person.id)
  expect(filesWithThePerson(dirname(workplace.mirror))).toEqual([])
  expect(filesWithThePerson(dirname(copy))).not.toContain('readers.db')
  expect(rowsOf(copy, `SELECT name FROM sqlite_schema WHERE name LIKE 'forgotten%'`)).toEqual([])
  expect(valueOf(copy, 'SELECT suppressed FROM runs ORDER BY id DESC')).toBe(1)
})

test('a customer forgotten twice is forgotten already', async () => {
  await forget('acme', person.id)

  const { code, stdout } = await forget('acme', person.id)

  expect(code).toBe(0)
  expect(stdout).toMatch(/^acme: the customer is forgotten already, since \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\n/)
})

test('--json prints what was done as one document', async () => {
  const done = document.parse(JSON.parse((await forget('acme', person.id, '--json')).stdout))

  expect(done).toMatchObject({ organization: 'acme', id: person.id, wasForgotten: false, erased: 'erased' })
  expect(done.deleted).toEqual({ customers: 1, changes: 0, rejects: 0 })
  expect(done.copies[0]).toBe(copy)
  expect(done.copies).toHaveLength(2)
})

test('--undo lets the customer come back as a new one, once', async () => {
  await forget('acme', person.id)

  const { code, stdout } = await forget('acme', person.id, '--undo')
  const [run] = runsIn((await sync('--json')).stdout)
  const again = await forget('acme', person.id, '--undo')

  expect(code).toBe(0)
  expect(stdout).toContain('acme: the customer is no longer forgotten.')
  expect(run).toMatchObject({ inserted: 1, suppressed: 0 })
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('no forgotten customer has this id') })
})

test.each([
  [
    'a customer that the mirror does not hold',
    ['acme', '00000000-0000-4000-8000-000000000009'],
    /holds no customer with this id.*'customer-mirror query --org acme --include-removed --json' lists/,
  ],
  ['an unknown organization', ['acne', '00000000-0000-4000-8000-000000000009'], /acne/],
])('%s ends with 2, and changes nothing', async (_, args, said) => {
  const contents = () => dump(workplace.mirror, ['runs', 'customers', 'changes', 'lists', 'forgotten'])
  const before = contents()

  const { code, stdout, stderr } = await forget(...args)

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(said)
  expect(contents()).toEqual(before)
})

test.each([['no-uuid'], [''], ['00000000-0000-4000-8000'], ["' OR 1=1 --"]])(
  '%j is no id of a customer',
  async (id) => {
    const { code, stderr } = await runCli(['forget', 'acme', id], { cwd: workplace.folder })

    expect(code).toBe(2)
    expect(stderr).toContain('It must be the id of a customer')
  },
)

test('without a mirror it ends with 7 and makes none', async () => {
  const empty = aWorkplace(organizationsOf(await aSandbox({ customers: [1] })))

  const { code, stderr } = await runCommand(forgetCommand, ['acme', person.id, '--config', empty.config])

  expect({ code, made: existsSync(empty.mirror) }).toEqual({ code: 7, made: false })
  expect(stderr).toContain('there is no mirror yet')
})

test('while a run has the organization it ends with 6, and changes nothing', async () => {
  const mirror = await openMirror(workplace.mirror)
  onTestFinished(() => mirror.close())
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })

  const { code, stderr } = await forget('acme', person.id)

  expect(code).toBe(6)
  expect(stderr).toContain('is mirroring it now, so it cannot be changed')
  expect(valueOf(workplace.mirror, 'SELECT count(*) FROM customers')).toBe(40)
})

test('while a program reads the mirror it ends with 5, and the same command finishes the work', async () => {
  const reader = new Database(workplace.mirror, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM customers').get()

  const busy = await forget('acme', person.id)
  expect(busy.code).toBe(5)
  expect(busy.stdout).toContain('acme: the customer is forgotten.')
  expect(busy.stdout).not.toContain('No byte')
  expect(busy.stderr).toContain(`run again:\n  customer-mirror forget acme ${person.id} --config ${workplace.config}\n`)

  reader.close()
  const finished = await forget('acme', person.id)
  expect(finished.code).toBe(0)
  expect(finished.stdout).toContain(`No byte of ${workplace.mirror} holds this customer.\n`)
  expect(filesWithThePerson(dirname(workplace.mirror))).toEqual([])
})

test('a renamed organization keeps its forgotten customers', async () => {
  await forget('acme', person.id)
  const renamed = await runCli(['organizations', 'rename', 'acme', 'globex'], { cwd: workplace.folder })
  expect(renamed.code).toBe(0)

  const { code, stdout } = await forget('globex', person.id)

  expect(code).toBe(0)
  expect(stdout).toContain('globex: the customer is forgotten already')
})
