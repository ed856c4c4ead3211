import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import type { Sandbox } from '../../src/service/sandbox.ts'
import { rowsOf, temporaryFolder } from '../support/mirror-file.ts'
import { written } from '../support/commands.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { failing } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf, type Workplace } from '../support/workplace.ts'

let workplace: Workplace
/** The same configuration, with the copies. */
let config: string
let copy: string
let person: Sandbox['organizations'][number]['customers'][number]

/** A mirror of forty customers, and its copies for readers of two nights; the person is in the middle of the list. */
beforeEach(async () => {
  const sandbox = await aSandbox({ customers: [40] })
  copy = join(temporaryFolder(), 'readers.db')
  workplace = aWorkplace(organizationsOf(sandbox), { defaults: { scan: 'chain' } })
  for (const _ of ['first', 'second']) {
    await workplace.run('sync')
    publish()
  }
  const settings = `publish: ${JSON.stringify({ file: copy, keep: 3 })}\n`
  config = written(join(workplace.folder, 'publishing.yaml'), readFileSync(workplace.config, 'utf8') + settings)
  person = sandbox.organizations[0]!.customers[20]!
})

const publish = () => publishAll(aPlan(workplace.mirror, { file: copy, keep: 3 }))
const forget = (option = '', id = person.id) => workplace.run(`forget acme ${id} --config ${config}${option}`)

/** The files of a folder whose bytes hold the id, the address or the phone number of the person. */
function filesWithThePerson(folder: string): string[] {
  const texts = [person.id, person.email, person.phone].map((text) => Buffer.from(text))
  return readdirSync(folder).filter((name) => texts.some((text) => readFileSync(join(folder, name)).includes(text)))
}

test('deletes the customer from every byte of the mirror, says what it cannot reach, and a second time nothing', async () => {
  expect(filesWithThePerson(dirname(workplace.mirror))).toContain('customers.db')
  const killed = join(dirname(copy), '.readers.db.0123456789abcdef.unfinished')
  writeFileSync(killed, readFileSync(copy))
  const { code, stdout, stderr } = await forget('', person.id.toUpperCase())

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(filesWithThePerson(dirname(workplace.mirror))).toEqual([])
  for (const said of [
    `No byte of ${workplace.mirror} holds this customer.\n`,
    ...['- the service', '- backups of the mirror', ', exports'],
    `DELETE FROM customers WHERE organization = 'acme' AND id = '${person.id}';\n`,
  ])
    expect(stdout).toContain(said)
  const older = `${copy.slice(0, -3)}-\\d+T\\d+Z\\.db`
  expect(stdout).toMatch(new RegExp(`copies for readers, made before\\..*:\n +${copy}\n +${older}\n +${killed}\n`))
  for (const value of [person.name, person.email, person.phone, person.username]) expect(stdout).not.toContain(value)
  const [at] = rowsOf(workplace.mirror, `SELECT replace(forgotten_at, ' ', 'T')||'Z' forgottenAt FROM forgotten`)
  expect(await workplace.json(`forget acme ${person.id}`)).toMatchObject({ wasForgotten: true, ...at })
})

test('deletes nothing where it cannot find out which copies hold the customer', async () => {
  rmSync(dirname(copy), { recursive: true })
  writeFileSync(dirname(copy), '')

  const said = `${dirname(copy)}: not a directory (scandir, ENOTDIR). Check the name`
  expect(await forget()).toMatchObject(failing(7, said))
  expect(filesWithThePerson(dirname(workplace.mirror))).toContain('customers.db')
})

test('the next runs and copies keep nothing of the record, which counts as suppressed, until --undo lets the customer come back, once', async () => {
  expect(await workplace.json(`forget acme ${person.id} --config ${config}`)).toMatchObject({
    ...{ organization: 'acme', id: person.id, wasForgotten: false, erased: 'erased' },
    ...{ deleted: { customers: 1, changes: 0, rejects: 0 }, copies: [copy, expect.any(String)] },
  })
  const next = await workplace.run('sync --json')
  publish()
  expect(next).toMatchObject({ code: 0, stderr: '', stdout: expect.not.stringContaining(person.id) })
  const counted = { proof: 'proven', suppressed: 1, unchanged: 39, inserted: 0, rejected: 0 }
  expect(JSON.parse(next.stdout).runs).toMatchObject([counted])
  expect(filesWithThePerson(dirname(workplace.mirror))).toEqual([])
  expect(filesWithThePerson(dirname(copy))).not.toContain('readers.db')
  expect(rowsOf(copy, `SELECT name FROM sqlite_schema WHERE name LIKE 'forgotten%'`)).toEqual([])

  const stdout = expect.stringContaining('the customer is no longer forgotten.')
  expect(await forget(' --undo')).toMatchObject({ code: 0, stdout })
  expect((await workplace.json('sync')).runs).toMatchObject([{ inserted: 1, suppressed: 0 }])
  expect(await forget(' --undo')).toMatchObject(failing(2, 'no forgotten customer has this id'))
})
