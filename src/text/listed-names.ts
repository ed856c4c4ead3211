/** The names for a message: the first 20 of them. */
export function listedNames(names: readonly string[]): string {
  return names.slice(0, MOST).join(', ') + (names.length > MOST ? ', …' : '')
}

const MOST = 20
