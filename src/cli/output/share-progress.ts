import { redrawableScreenOf, type Io } from '../io.ts'
import { redrawnLines } from './redrawn-lines.ts'

/** A line on a terminal that says how much of something is done; nothing where there is no terminal. */
export type ShareProgress = {
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
