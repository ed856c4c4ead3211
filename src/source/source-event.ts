/** What a source tells while it works, for a progress line or a log. Times in milliseconds; `untilMs` is a Unix time. */
export type SourceEvent =
  | { kind: 'waiting'; reason: 'rate-limited' | 'unavailable'; waitMs: number; untilMs: number }
  | { kind: 'clock-corrected'; offsetMs: number }
