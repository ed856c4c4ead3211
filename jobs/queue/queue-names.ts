/** The names of the queues in the database. */
export function queueNames({ prefix }: { prefix: string }): { tick: string; sync: string; quick: string } {
  return { tick: `${prefix}-tick`, sync: `${prefix}-sync`, quick: `${prefix}-quick` }
}
