import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from './temp-folder.ts'

/** A folder with a `sqlite3` that can do what the documents ask of it, for machines that have none. */
export function aStandInForSqlite3(): string {
  const folder = join(temporaryFolder(), 'bin')
  const program = join(folder, 'sqlite3')
  mkdirSync(folder)
  writeFileSync(
    program,
    `#!${process.execPath}
const Database = require(${JSON.stringify(new URL('../../node_modules/better-sqlite3', import.meta.url).pathname)})
const [file, command] = process.argv.slice(2)
const db = new Database(file)
const [, target] = /^\\.backup '(.*)'$/.exec(command) ?? []
if (target === undefined) for (const row of db.prepare(command).raw().all()) console.log(row.join('|'))
else db.exec(\`VACUUM INTO '\${target}'\`)
`,
    { mode: 0o755 },
  )
  return folder
}
