import type { Certificate } from './certificate.ts'
import type { Scan } from './scan.ts'

/** A scan that ends after so many windows, for a trial: whatever it has not read by then, it says `page-limit`. */
export function limitedScan(scan: Scan, limit: number): Scan {
  let asked = 0
  let answered = 0
  const cutShort = () => asked >= limit && answered >= asked && !scan.done
  return {
    next(free) {
      const windows = scan.next(Math.min(free, limit - asked))
      asked += windows.length
      return windows
    },
    read(answer) {
      answered += 1
      scan.read(answer)
    },
    failed(window, failure) {
      // A page that is refused for its size is asked for again in a smaller one: that counts once.
      if (failure === 'size-refused') asked -= 1
      else answered += 1
      scan.failed(window, failure)
    },
    get done() {
      return scan.done || cutShort()
    },
    certificate(): Certificate {
      const certificate = scan.certificate()
      return cutShort() ? { ...certificate, proof: 'unproven', reasons: ['page-limit'] } : certificate
    },
  }
}
