/** Starts the work, or waits for that which is under way. */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let underWay: Promise<void> | undefined
  return () =>
    (underWay ??= work().finally(() => {
      underWay = undefined
    }))
}
