/**
 * Why the system ended a process of ours with this signal, and what to do. SIGBUS: a file that SQLite has in memory, the `-shm` of a mirror, has
 * no room on the disk; Btrfs finds that out only then, as do blocks that are smaller than a page of memory.
 */
export function whyEnded(signal: string | null): { why: string; fix: string } {
  return signal === 'SIGBUS'
    ? { why: 'since the disk of the mirror is full or failed', fix: 'Free some space, then try again.' }
    : { why: 'most likely because it needs more memory than there is', fix: 'Ask for less at once.' }
}
