/**
 * Exponential backoff: how long to wait after try number `tries`, from 1. The bound doubles with every try, up to `longestMs`.
 * With full jitter the wait is anything from nothing to that bound; `least` is the share of it to wait at all events. `random`
 * is from 0 to 1.
 */
export function backoffMs(
  tries: number,
  random: number,
  { firstMs, longestMs, least = 0 }: { firstMs: number; longestMs: number; least?: number },
): number {
  const boundMs = Math.min(longestMs, firstMs * 2 ** (tries - 1))
  return Math.round(boundMs * (least + (1 - least) * random))
}
