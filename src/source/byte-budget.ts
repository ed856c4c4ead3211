import pLimit from 'p-limit'

/** Memory for all pages in transit, from the first byte until their customers are saved: as text and records, it takes several times its bytes. */
export type ByteBudget = ReturnType<typeof createByteBudget>

/** The memory of one page, counted from its first byte on. */
export type Room = ReturnType<ByteBudget['open']>

/** The bytes in transit of one organization. */
export type Share = { bytes: number }

type Claim = { bytes: number; share: Share; goOn: (() => void) | undefined }

export function createByteBudget(mostBytes: number) {
  // In the order in which their first bytes arrived.
  const claims = new Set<Claim>()
  let total = 0

  const oldest = (isOne: (claim: Claim) => boolean) => claims.values().find(isOne)
  const mayGoOn = (claim: Claim): boolean => {
    const first = oldest(() => true)
    if (total > mostBytes) return claim === first || claim === oldest(({ share }) => share !== first?.share)
    return claim.share.bytes <= mostBytes / 2 || claim === oldest(({ share }) => share === claim.share)
  }
  const wake = (): void => {
    for (const claim of claims) {
      if (claim.goOn === undefined || !mayGoOn(claim)) continue
      const { goOn } = claim
      claim.goOn = undefined
      goOn()
    }
  }

  return {
    open(share: Share) {
      const claim: Claim = { bytes: 0, share, goOn: undefined }
      let isClosed = false
      return {
        /** Counts more bytes. A negative number releases some. */
        add(bytes: number): void {
          if (isClosed) return
          claims.add(claim)
          claim.bytes += bytes
          share.bytes += bytes
          total += bytes
          if (bytes < 0) wake()
        },
        /**
         * False while half of it is of one organization, except for its page that is longest, which is received to its end, however large, and then
         * makes room; and while too much is in transit, except for the longest of all and the longest of another organization: one whose answers
         * drip holds up no other one.
         */
        get mayGoOn(): boolean {
          return isClosed || mayGoOn(claim)
        },
        /** Calls back once, as soon as it may go on; a later call replaces an earlier one. */
        whenRoom(goOn: (() => void) | undefined): void {
          claim.goOn = goOn
          if (goOn !== undefined) wake()
        },
        /** Releases all of it. What comes after that is counted again. */
        release(): void {
          if (!claims.delete(claim)) return
          total -= claim.bytes
          share.bytes -= claim.bytes
          claim.bytes = 0
          claim.goOn = undefined
          wake()
        },
        /** Releases all of it for good: what still comes of a request that was given up keeps no other page out. */
        close(): void {
          isClosed = true
          this.release()
        },
      }
    },
  }
}

/** Resolves when the room may go on; rejects with the reason of a signal that aborts. */
export async function whenRoomy(room: Room, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (room.mayGoOn) return
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const giveUp = () => reject(signal.reason)
  signal.addEventListener('abort', giveUp)
  room.whenRoom(resolve)
  try {
    await promise
  } finally {
    room.whenRoom(undefined)
    signal.removeEventListener('abort', giveUp)
  }
}

/** Runs tasks whose memory is not known before, one at a time, while there is room. */
export async function inTurn<T>(task: () => Promise<T>, room: Room, signal: AbortSignal): Promise<T> {
  for (;;) {
    await whenRoomy(room, signal)
    // Another task may have taken the room while this one waited for its turn; a task that waits for room gives its turn back.
    const done = await turns(async () => (room.mayGoOn ? { value: await task() } : undefined))
    if (done !== undefined) return done.value
  }
}
const turns = pLimit(1)

/** Enough for two pages of the largest size, or some hundred ordinary ones. */
export const PROCESS_BUDGET = createByteBudget(32 * 1024 * 1024)
