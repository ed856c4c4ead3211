import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { anAwayOrganization, aWorkplace } from '../support/workplace.ts'

test.each(['backup', 'restore'])('%s of a mirror in PostgreSQL names the page with the commands', async (command) => {
  const place = aWorkplace([anAwayOrganization()], { mirror: 'postgres://ann@127.0.0.1:1/crm' })
  const { code, stderr } = await place.run(`${command} a.dump`)
  const [page = ''] = /docs\/\S+\.md/.exec(stderr) ?? []
  const root = new URL('../../', import.meta.url)
  const guide = readFileSync(new URL(page, root), 'utf8')

  expect(code).toBe(2)
  expect(guide).toMatch(/^pg_dump [^]*^pg_restore .*--file=docs\/ops\//m)
  for (const [file] of guide.matchAll(/docs\/ops\/[\w/-]+\.sql/g)) expect(existsSync(new URL(file, root))).toBe(true)
})
