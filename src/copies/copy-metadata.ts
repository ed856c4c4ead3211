import { lstatSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { codeOf } from '../errors/faults.ts'
import type { PublicColumn, PublicTable } from '../model/public-tables.ts'
import { tablesOfCopy } from './build-copy.ts'
import { MANIFEST } from './copy-manifest.ts'
import { type Access, modeOf } from './target-place.ts'
import { writeTextFile } from './written-file.ts'

/**
 * Writes Datasette's `metadata.json` beside the copies of a folder, if it is not there as it should be: what each table and column
 * holds. Returns a sentence where another file has that name, which is left as it is.
 */
export function describeCopies(
  files: readonly string[],
  { gid, forAll, lockWaitMs }: Access & { lockWaitMs: number },
): string | undefined {
  const [first = ''] = files
  const place = placeOfMetadata(dirname(first))
  const names = files.map((file) => basename(file, extname(file)))
  const tables = [...tablesOfCopy({ withoutPersonalData: forAll }), MANIFEST]
  const text = `${JSON.stringify(datasetteMetadata(names, tables), null, 2)}\n`
  const found = readIfThere(place)
  if (found === text) return undefined
  if (found !== undefined && !found.startsWith('{\n  "title": "Customer Mirror",'))
    return `${place}: is not of this program and was left as it is; the copies are not described for Datasette.`
  writeTextFile(place, text, { mode: modeOf({ gid, forAll }), gid, waitMs: lockWaitMs })
  return undefined
}

/** The place of the description of the copies in a folder. */
export function placeOfMetadata(folder: string): string {
  return join(folder, 'metadata.json')
}

/** What the view `freshness` of a copy reads, and the last number of a change, which SQLite keeps. */
const HIDDEN = { freshness_as_published: { hidden: true }, sqlite_sequence: { hidden: true } }

/** Empty for what is no file, such as a pipe, which would be read for ever. */
function readIfThere(path: string): string | undefined {
  try {
    if (!lstatSync(path).isFile()) return ''
    return readFileSync(path, 'utf8')
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? undefined : ''
  }
}

/** Datasette's `metadata.json` for databases with these tables; their names are those of the files without ending. */
function datasetteMetadata(names: readonly string[], tables: readonly PublicTable[]) {
  const described = tables.map(({ name, meaning, columns }) => {
    const descriptions = columns.map((column) => [column.name, explain(column)])
    return [name, { description: sentence(meaning), columns: Object.fromEntries(descriptions) }]
  })
  const database = { tables: { ...Object.fromEntries(described), ...HIDDEN } }
  return {
    title: 'Customer Mirror',
    description: 'The customers of every organization, as the order-management service lists them.',
    databases: Object.fromEntries(names.map((name) => [name, database])),
  }
}

function explain({ meaning, personal }: PublicColumn): string {
  return sentence(personal ? `${meaning} (personal data)` : meaning)
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
