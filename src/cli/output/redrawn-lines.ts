import { type Screen, redrawableScreenOf, type Io } from '../io.ts'
import { columnsOf } from './fit-text.ts'

/** The last lines of a terminal, redrawn in place. Printed lines go above them, and stay. */
type RedrawnLines = {
  draw(lines: readonly string[]): void
  print(lines: readonly string[]): void
  erase(): void
}

const STANDING = new Set<() => void>()

/** Erases what is still drawn: for the end of a process that could not close it, such as the second Ctrl-C brings. */
export function eraseStanding(): void {
  for (const erase of STANDING) erase()
}

export function redrawnLines(screen: Screen): RedrawnLines {
  let drawn: readonly string[] = []
  return {
    draw(lines) {
      if (lines.length === drawn.length && lines.every((line, index) => line === drawn[index])) return
      screen.write(back() + lines.map(ended).join(''))
      STANDING.add(erase)
      drawn = lines
    },
    print(lines) {
      screen.write(back() + [...lines, ...drawn].map(ended).join(''))
    },
    erase,
  }

  function erase(): void {
    screen.write(back())
    drawn = []
    STANDING.delete(erase)
  }

  /**
   * Moves to the first line and erases each row on the way: some terminals keep a copy of everything that is cleared at once. A
   * terminal that became narrower wraps lines, so one line may take several rows.
   */
  function back(): string {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(columnsOf(line) / screen.columns)), 0)
    return rows === 0 ? '' : `\r${ROW_ABOVE_ERASED.repeat(rows)}`
  }
}

const ROW_ABOVE_ERASED = '\u001B[1A\u001B[2K'

function ended(line: string): string {
  return `${line}\n`
}

/** A line on a terminal that says how much of something is done; nothing where there is no terminal. */
type ShareProgress = {
  /** `share` from 0 to 1. */
  show: (share: number) => void
  close: () => void
}

export function shareProgress(what: string, { stderr }: Pick<Io, 'stderr'>): ShareProgress {
  const screen = redrawableScreenOf(stderr)
  if (screen === undefined) return { show: () => {}, close: () => {} }
  const lines = redrawnLines(screen)
  return {
    show: (share) =>
      lines.draw([share < 1 ? `${what}: ${Math.floor(share * 100)} %` : `${what}: all copied, now checked`]),
    close: () => lines.erase(),
  }
}
