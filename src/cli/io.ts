import type { ExitCode } from './exit-code.ts'

/** What a command may use of its process. */
export type Io = {
  /** Aborted when the user or the system asks the program to stop. */
  signal: AbortSignal
  /** For results. */
  stdout: NodeJS.WritableStream
  /** For everything said beside the results. */
  stderr: NodeJS.WritableStream
  /** Sets the code the program ends with, for a command that was carried out but has no good news. */
  exitWith: (code: ExitCode) => void
}

/** A terminal that a person may be looking at. Its size changes while the program runs. */
export type Screen = NodeJS.WritableStream & { readonly columns: number; readonly rows?: number }

/** The stream as a terminal; undefined for files and pipes, and for a terminal that does not know how wide it is. */
export function screenOf(stream: NodeJS.WritableStream): Screen | undefined {
  return isTerminal(stream) && isScreen(stream) && stream.columns > 0 ? stream : undefined
}

/** Whether a person may be looking at what is written there. */
export function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true
}

function isScreen(stream: NodeJS.WritableStream): stream is Screen {
  return 'columns' in stream && typeof stream.columns === 'number'
}
