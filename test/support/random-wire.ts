import type { Dispatcher } from 'undici'
import type { Connections } from '../../src/source/connection.ts'
import type { Dice } from './dice.ts'

/** One answer on the wire; `broken` if the connection ends instead. */
export type WireAnswer = { status: number; headers: Record<string, string>; body: string | Buffer; broken?: boolean }
/** A request; the same `key` for the same address. */
export type Asked = { page: number; size: number; search: string | undefined; key: string }

type Handler = Dispatcher.DispatchHandler
type Request = { asked: Asked; handler: Handler; answer?: WireAnswer }

/**
 * Replaces the agent of undici: requests are answered in any order, and answers arrive in any other order. `answer` is called
 * when the service answers, `moved` after each event.
 */
export function wireTo(answer: (asked: Asked) => WireAnswer, moved: () => void, dice: Dice): Connections {
  const underWay: Request[] = []
  let isMoving = false

  const move = () => {
    isMoving = false
    const at = dice.below(underWay.length)
    const request = underWay[at]
    if (request === undefined) return
    moved()
    if (request.answer === undefined) request.answer = answer(request.asked)
    else {
      underWay.splice(at, 1)
      deliver(request.handler, request.answer)
    }
    go()
  }
  const go = () => {
    if (isMoving || underWay.length === 0) return
    isMoving = true
    setImmediate(move)
  }
  return {
    dispatch({ path }, handler): boolean {
      const query = new URLSearchParams(path.slice(path.indexOf('?')))
      const search = query.get('search') ?? undefined
      const asked = { page: Number(query.get('page')), size: Number(query.get('per_page')), search, key: path }
      handler.onRequestStart?.(CONTROLLER, {})
      underWay.push({ asked, handler })
      go()
      return true
    },
  }
}

function deliver(handler: Handler, { status, headers, body, broken }: WireAnswer): void {
  if (broken === true) return handler.onResponseError?.(CONTROLLER, new Error('socket hang up'))
  handler.onResponseStart?.(CONTROLLER, status, headers, '')
  handler.onResponseData?.(CONTROLLER, Buffer.from(body))
  handler.onResponseEnd?.(CONTROLLER, {})
}

const CONTROLLER: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort() {},
  pause() {},
  resume() {},
}
