import { expect, test } from 'vitest'
import { customerId, customers, START_MS } from '../../support/builders.ts'
import { KEPT_FROM_WRITING } from '../../support/failing-disk.ts'
import { aMirror, dump, mirrorPages, tamper } from '../../support/mirror-file.ts'

/* A trigger that someone added to a table of the mirror keeps rows from being written, and reports no error. */

const ROWS = ['customers', 'changes', 'rejects']

test.each(KEPT_FROM_WRITING)(
  'a trigger that keeps %s from being written ends the run, and is what to look for',
  async (_what, event, list) => {
    const mirror = await aMirror()
    await mirrorPages(mirror, [customers(1, 2)])
    const before = dump(mirror.file, ROWS)
    suppress(mirror, event)

    await expect(mirrorPages(mirror, [list])).rejects.toMatchObject({
      code: 'accounting',
      message: expect.stringContaining(
        `a trigger, a rule or a policy that someone added to ${event.split(' ').at(-1)}`,
      ),
    })
    expect(dump(mirror.file, ROWS)).toEqual(before)
  },
)

test.each(['UPDATE OF missing_since ON customers', 'UPDATE OF removed_at ON customers', 'INSERT ON changes'])(
  'a trigger BEFORE %s that keeps an absent customer listed ends the run',
  async (event) => {
    const mirror = await aMirror()
    await mirrorPages(mirror, [customers(1, 30)])
    suppress(mirror, event)
    const removals = { rule: { after: 1, maxShare: 1 }, confirmed: new Set<string>() }

    await expect(
      mirrorPages(mirror, [customers(2, 30)], { ending: { proof: 'proven', reasons: [], removals } }),
    ).rejects.toMatchObject({ code: 'accounting' })
  },
)

test('a trigger that keeps a customer from being deleted keeps it from being forgotten, and is what to look for', async () => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 2)])
  suppress(mirror, 'DELETE ON customers')

  await expect(
    mirror.forgetCustomer({ organization: 'acme', id: customerId(1), nowMs: START_MS, monotonicMs: START_MS }),
  ).rejects.toMatchObject({ code: 'accounting', message: expect.stringContaining('added to customers') })
})

/** `event` as in CREATE TRIGGER: a verb, ON and a table. */
function suppress({ file }: { file: string }, event: string, when = '') {
  tamper(file, `CREATE TRIGGER skipping BEFORE ${event} ${when} BEGIN SELECT RAISE(IGNORE); END`)
}
