/**
 * The organizations of a mirror, as a whole. Each verb is one transaction, which readers see all of or nothing. All of them throw
 * OrganizationLeased while a run has the organization, UsageError where it cannot be done, and MirrorUnusable when the file fails.
 */
export type Organizations = {
  /** The names of those of which the mirror holds anything, in order. */
  list(): Promise<string[]>
  /** Gives an organization another name, which no other may have. */
  rename(names: { from: string; to: string }, clocks: Clocks): Promise<Renamed>
  /** Takes every customer of an organization as no longer active, until its next run. */
  retire(organization: string, clocks: Clocks): Promise<Retired>
  contents(organization: string): Promise<Contents>
  /** Whether the rows of an organization are deleted, and bytes of them may be left in the file. */
  isUnfinished(organization: string): Promise<boolean>
  /**
   * Deletes everything of an organization, and the bytes that it leaves in the file. Returns false if another program or a full disk
   * prevented the latter, and throws MirrorUnusable if a server did; the same call does the rest later.
   */
  forget(organization: string, clocks: Clocks): Promise<boolean>
  close(): Promise<void>
}

/** The moment by the wall clock, and by the monotonic clock, which leases count by. */
export type Clocks = { nowMs: number; monotonicMs: number }

export type Renamed = { customers: number; changes: number; runs: number }

export type Retired = { removed: number }

/** Numbers of rows; `forgotten` customers are those of which only a hash is left. */
export type Contents = { customers: number; changes: number; runs: number; rejects: number; forgotten: number }
