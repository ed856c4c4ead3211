import type { Certificate } from './certificate.ts'
import type { Scan } from './scan.ts'

/** For a trial: a scan that ends after `limit` windows with the reason `page-limit`, unless it was done before. */
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
      // A page refused for its size is requested again in a smaller size: that counts once.
      if (failure === 'size-refused') asked -= 1
      else answered += 1
      scan.failed(window, failure)
    },
    get done() {
      return scan.done || cutShort()
    },
    get order() {
      return scan.order
    },
    certificate(): Certificate {
      const certificate = scan.certificate()
      return cutShort() ? { ...certificate, proof: 'unproven', reasons: ['page-limit'] } : certificate
    },
  }
}
