import type { Agent } from 'undici'
// The agent by itself: the index of undici loads 77 files more, for fetch, caches, mocks and web sockets.
import UndiciAgent from 'undici/lib/dispatcher/agent.js'

/** What an agent is made for. */
export type AgentKind = {
  origin: string
  /** At once. */
  connections: number
  connectTimeoutMs: number
}

/**
 * Agents whose run has ended, with the connections they still have open, for the next run that asks the same service:
 * opening one takes as long as several requests. An unused connection closes by itself after a few seconds.
 */
export class IdleAgents {
  readonly #idle = new Map<string, Agent[]>()

  /** An agent that is used by the caller alone until it is put back. */
  take(kind: AgentKind): Agent {
    return this.#idle.get(nameOf(kind))?.pop() ?? createAgent(kind)
  }

  /** Takes an agent back that has no request under way. */
  putBack(kind: AgentKind, agent: Agent): void {
    const idle = this.#idle.get(nameOf(kind)) ?? []
    this.#idle.set(nameOf(kind), idle)
    idle.push(agent)
  }

  async close(): Promise<void> {
    const agents = [...this.#idle.values()].flat()
    this.#idle.clear()
    await Promise.all(agents.map((agent) => agent.destroy()))
  }
}

export function createAgent({ connections, connectTimeoutMs }: AgentKind): Agent {
  return new UndiciAgent({
    connections,
    allowH2: false,
    // Explicit, so that no environment variable can turn it off.
    connect: { rejectUnauthorized: true, timeout: connectTimeoutMs },
    // One limit over the whole exchange replaces these; a pause between bytes never ends a body that drips.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
}

function nameOf({ origin, connections, connectTimeoutMs }: AgentKind): string {
  return `${origin} ${connections} ${connectTimeoutMs}`
}
