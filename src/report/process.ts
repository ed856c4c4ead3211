import { readFileSync, statSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { copyError } from '../copies/copy-error.ts'
import { writeTextFile } from '../copies/written-file.ts'
import { isOurs } from '../errors/errors.ts'
import { readFigures } from './figures.ts'
import { reportPage } from './page.ts'

/** At the end of each page. */
const MADE = 'by Customer Mirror '

/** The process that writes pages of figures: takes copies, each with its moment, as JSON on standard input, and prints warnings as JSON. */
const copies: { file: string; atMs: number }[] = JSON.parse(await text(process.stdin))
const warnings: string[] = []
for (const copy of copies) {
  const page = `${copy.file.replace(/\.[^./]*$/, '')}.html`
  try {
    warnings.push(...(await writeBeside(copy, page)))
  } catch (error) {
    const told = copyError(error, page)
    if (!isOurs(told)) throw told
    warnings.push(told.message)
  }
}
process.stdout.write(JSON.stringify(warnings))

/** For those who may read the copy. */
async function writeBeside({ file, atMs }: { file: string; atMs: number }, page: string): Promise<string[]> {
  const found = statSync(page, { throwIfNoEntry: false })
  // A pipe would be read for ever.
  const isMade = found === undefined || (found.isFile() && readFileSync(page, 'utf8').includes(MADE))
  if (!isMade) return [`${page}: is not of this program and was left as it is; the copy has no page of figures.`]
  const drawn = await reportPage(await readFigures(file), atMs)
  const { mode, gid } = statSync(file)
  writeTextFile(page, drawn, { mode: mode & 0o777, gid })
  return []
}
