import { setTimeout as delay } from "node:timers/promises"
import { type Engine, Perdure, PerdureError, workflow } from "../../src/index.ts"
import { sqlite } from "../../src/sqlite.ts"
import { markedStore } from "./marked-store.ts"
import type { Plan, PlannedEvent } from "./plan.ts"

/** The client of the kill test: starts instances and sends events, and remembers what was acknowledged. */
export class ClientLoad {
  readonly engine: Engine
  /** Not 0 while a write of this client is under way. The thread of the killer reads it. */
  readonly writing: Int32Array
  readonly started = new Set<string>()
  /** The acknowledged events of each instance, in the order of acknowledgement. */
  readonly sent = new Map<string, PlannedEvent[]>()
  readonly refused: string[] = []
  readonly #plays: Promise<void>[] = []

  private constructor(engine: Engine, writing: Int32Array) {
    this.engine = engine
    this.writing = writing
  }

  static async open(path: string): Promise<ClientLoad> {
    const writing = new Int32Array(new SharedArrayBuffer(4))
    const during = <T>(_operation: string, work: () => T): T => {
      Atomics.add(writing, 0, 1)
      try {
        return work()
      } finally {
        Atomics.sub(writing, 0, 1)
      }
    }
    const engine = await Perdure.open({ store: markedStore(sqlite(path), { during }), role: "client" })
    return new ClientLoad(engine, writing)
  }

  /** Makes all calls of the client for an instance. */
  play(plan: Plan): void {
    this.#plays.push(
      this.#play(plan).catch((error: unknown) => {
        this.refused.push(`${plan.id}: ${String(error)}`)
      }),
    )
  }

  async played(): Promise<void> {
    await Promise.all(this.#plays)
  }

  async #play({ id, workflow: name, input, events, startsWithEvent }: Plan): Promise<void> {
    const rest = [...events]
    const first = startsWithEvent ? rest.shift() : undefined
    if (first) {
      const definition = workflow(name, async (_ctx, _input: unknown) => Promise.reject(new Error("a client executes nothing")))
      await this.engine.sendOrStart(definition, { id, input, event: first.type, payload: first.payload, eventId: first.eventId })
    } else await this.engine.start(name, { id, input, version: "1", allowUnknown: true })
    this.started.add(id)
    if (first) this.#acknowledged(id, first)
    for (const event of rest) {
      await delay(event.afterMs)
      await this.#send(id, event)
      this.#acknowledged(id, event)
      if (event.twice) await this.#sendAgain(id, event)
    }
  }

  async #send(id: string, { type, payload, eventId }: PlannedEvent): Promise<void> {
    await this.engine.get(id).sendEvent(type, payload, { eventId })
  }

  /** The instance may have received the first event and ended. */
  async #sendAgain(id: string, event: PlannedEvent): Promise<void> {
    try {
      await this.#send(id, event)
    } catch (error) {
      if (!PerdureError.is(error, "INSTANCE_ENDED")) throw error
    }
  }

  #acknowledged(id: string, event: PlannedEvent): void {
    const sent = this.sent.get(id)
    if (sent) sent.push(event)
    else this.sent.set(id, [event])
  }
}
