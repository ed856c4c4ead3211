import type { ExitCode } from './exit-code.ts'

/** The parts of the process that a command may use. */
export type Io = {
  /** Aborted when the user or the system asks the program to stop. */
  signal: AbortSignal
  /** For results. */
  stdout: NodeJS.WritableStream
  /** For all other messages. */
  stderr: NodeJS.WritableStream
  /** Sets the exit code of a command that did its work but reports a problem. */
  exitWith: (code: ExitCode) => void
  /** From now on SIGHUP calls `listener` and no longer ends the process. Absent where no signals arrive. */
  onHangUp?: (listener: () => void) => void
  /** Asks the person at the terminal for a line; the empty text once stopped. Absent where there is no terminal. */
  ask?: (question: string) => Promise<string>
  /**
   * Ends the process shortly, unless it ends by itself before: timers of the queue that nothing can end must not keep it.
   * Absent where the process has more to do.
   */
  endSoon?: () => void
}

/** A terminal that a person may be looking at. Its size changes while the program runs. */
export type Screen = NodeJS.WritableStream & { readonly columns: number; readonly rows?: number }

/** The stream as a terminal; undefined for files, pipes and terminals of unknown width. */
export function screenOf(stream: NodeJS.WritableStream): Screen | undefined {
  return isTerminal(stream) && isScreen(stream) && stream.columns > 0 ? stream : undefined
}

/** Whether the stream is a terminal. */
export function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}

function isScreen(stream: NodeJS.WritableStream): stream is Screen {
  return 'columns' in stream && typeof stream.columns === 'number'
}
