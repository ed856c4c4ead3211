/** A REAL in SQL and in JSON, with which it stays one: `1.0`, `1e+300`, `9e999` for infinity. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '9e999' : '-9e999'
  const text = Object.is(value, -0) ? '-0' : String(value)
  return /^-?\d+$/.test(text) ? `${text}.0` : text
}
