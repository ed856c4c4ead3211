/**
 * Ends the process shortly, unless it ends by itself before: timers of the queue that nothing can end must not keep it. The
 * exit code is set, and everything written, by whoever started it.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

const LINGER_MS = 500
