/** The names of the queues in the database. */
export function queueNames({ prefix }: { prefix: string }): { sync: string; quick: string } {
  return { sync: `${prefix}-sync`, quick: `${prefix}-quick` }
}
