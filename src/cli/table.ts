import Table from 'cli-table3'

/** A table for people, without frames: columns of text under a head, aligned, ending in a new line. */
export function renderTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const table = new Table({
    head: [...head],
    chars: NO_FRAME,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colAligns: head.map((_, column) =>
      rows.every((row) => isNumeric(row[column])) && rows.length > 0 ? 'right' : 'left',
    ),
  })
  table.push(...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell))))
  return `${table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')}\n`
}

function isNumeric(cell: string | number | undefined): boolean {
  return typeof cell === 'number' || cell === '–'
}

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
}
