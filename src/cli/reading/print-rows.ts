import type { SomeRows } from '../../copies/postgres-statement.ts'
import { formatRows, type Layout } from '../output/rows.ts'

/** What is kept before it is printed, in characters. */
const MOST_KEPT = 64 * 1024

/** The text of rows in a layout, as they come. Rows after the first `most` are left out, and `onMore` is called. */
export async function* textOf(
  found: AsyncIterable<SomeRows>,
  layout: Layout,
  { most = Infinity, onMore }: { most?: number | undefined; onMore?: () => void } = {},
): AsyncGenerator<string, void> {
  const format = formatRows(layout)
  let text: string | undefined
  let printed = 0
  for await (const { columns, rows } of found) {
    text ??= format.open(columns)
    for (const row of rows) {
      if (printed === most) {
        onMore?.()
        yield text + format.close()
        return
      }
      printed += 1
      text += format.row(row)
      if (text.length < MOST_KEPT) continue
      yield text
      text = ''
    }
  }
  yield (text ?? '') + format.close()
}
