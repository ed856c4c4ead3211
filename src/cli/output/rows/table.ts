import { plainText } from '../plain-text.ts'
import { renderTable, type TableScreen } from '../table.ts'
import { numberText } from './number-text.ts'
import type { SqlValue } from '../../../reading/statements/readable-statement.ts'
import type { RowFormat } from './row-format.ts'

/** A table has so many rows, or takes so much room, as each row is as wide as the widest; the next one has a head again. */
const MOST_ROWS = 1000
const MOST_ROOM = 10_000_000

type Table = { screen?: TableScreen | undefined; nothing: string; none?: string | undefined }

/** Tables for people. `nothing` is shown for NULL, and `none`, if there is one, in place of a table without rows. */
export function tableFormat({ screen, nothing, none }: Table): RowFormat {
  let head: string[] = []
  let kept: (string | bigint)[][] = []
  let widths: number[] = []
  let isFirst = true
  const drawn = () => {
    if (kept.length === 0 && none !== undefined) return none
    const table = (isFirst ? '' : '\n') + renderTable(head, kept, screen, { isTitled: false })
    kept = []
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
      const wider = widen(widths, cells)
      const isFull = kept.length > 0 && (kept.length === MOST_ROWS || (kept.length + 1) * sum(wider) > MOST_ROOM)
      const table = isFull ? drawn() : ''
      widths = isFull ? widen([], cells) : wider
      kept.push(cells)
      return table
    },
    close: drawn,
  }
}

function widen(widths: readonly number[], cells: readonly (string | bigint)[]): number[] {
  return cells.map((cell, column) => Math.max(String(cell).length, widths[column] ?? 0))
}

function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width, 0)
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
