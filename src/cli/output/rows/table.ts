import { plainText } from '../plain-text.ts'
import { renderTable, type TableScreen } from '../table.ts'
import { numberText } from './number-text.ts'
import type { SqlValue } from '../../../reading/readable-statement.ts'
import type { RowFormat } from './row-format.ts'

/** A table holds so many rows, or so much text; the next one has a head again. */
const MOST_ROWS = 1000
const MOST_CHARACTERS = 1_000_000

type Table = { screen?: TableScreen | undefined; nothing: string; none?: string | undefined }

/** Tables for people. `nothing` is shown for NULL, and `none`, if there is one, in place of a table without rows. */
export function tableFormat({ screen, nothing, none }: Table): RowFormat {
  let head: string[] = []
  let kept: (string | bigint)[][] = []
  let characters = 0
  let isFirst = true
  const drawn = () => {
    if (kept.length === 0 && !isFirst) return ''
    if (kept.length === 0 && none !== undefined) return none
    const table = (isFirst ? '' : '\n') + renderTable(head, kept, screen)
    kept = []
    characters = 0
    isFirst = false
    return table
  }
  return {
    open(columns) {
      head = columns.map(plainText)
      return ''
    },
    row(values) {
      const cells = values.map((value) => cellOf(value, nothing))
      kept.push(cells)
      for (const cell of cells) characters += typeof cell === 'string' ? cell.length : 1
      return kept.length < MOST_ROWS && characters < MOST_CHARACTERS ? '' : drawn()
    },
    close: drawn,
  }
}

function cellOf(value: SqlValue, nothing: string): string | bigint {
  if (value === null) return nothing
  if (typeof value === 'string') return plainText(value)
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return numberText(value)
  const { length } = value
  const start = value.subarray(0, SHOWN_BYTES).toString('hex')
  return length <= SHOWN_BYTES ? `x'${start}'` : `x'${start}…' (${length} bytes)`
}

const SHOWN_BYTES = 16
