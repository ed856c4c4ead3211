import { existsSync, readFileSync, statSync } from 'node:fs'
import { copyError } from '../copies/copy-error.ts'
import type { Published } from '../copies/publish-plan.ts'
import { writeTextFile } from '../copies/written-file.ts'
import { describeError } from '../errors/errors.ts'
import { readFigures } from './report-figures.ts'
import { reportPage } from './report-page.ts'

/**
 * Writes the page of figures beside each copy that was published, for those who may read the copy. Returns what was published; a page that cannot be
 * written is a warning.
 */
export async function withReports(published: Published): Promise<Published> {
  const warnings: string[] = []
  for (const { file } of published.copies) {
    const page = `${file.replace(/\.[^./]*$/, '')}.html`
    try {
      if (existsSync(page) && !readFileSync(page, 'utf8').startsWith(BEGINNING)) {
        warnings.push(`${page}: is not of this program and was left as it is; the copy has no page of figures.`)
        continue
      }
      const text = await reportPage(await readFigures(file), Date.now())
      const { mode, gid } = statSync(file)
      writeTextFile(page, text, { mode: mode & 0o777, gid })
    } catch (error) {
      warnings.push(describeError(copyError(error, page)).message)
    }
  }
  return { ...published, warnings: [...published.warnings, ...warnings] }
}

const BEGINNING = '<!doctype html>'
