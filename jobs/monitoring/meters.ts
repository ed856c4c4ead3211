import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** What the names of all metrics begin with. */
export const PREFIX = 'customer_mirror_'

export type Meters = ReturnType<typeof metersIn>

/** Makes metrics that belong to a registry. */
export function metersIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `${PREFIX}${name}_total`, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: string[], buckets: number[]) =>
      new Histogram({ name: `${PREFIX}${name}`, help, labelNames, buckets, registers }),
    /** A gauge that is set anew at each scrape. */
    gauge: (name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => Promise<void> | void) =>
      new Gauge({
        name: `${PREFIX}${name}`,
        help,
        labelNames,
        registers,
        collect() {
          this.reset()
          return collect(this)
        },
      }),
  }
}
