import type { ChangePage } from "../../ports/change-stream.ts"
import type { Delivery, Directory, WorkerLease } from "../../ports/directory.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { SharedStoreOptions } from "./object-store.ts"

/** That a Date can tell. */
const lastInstant = 8_640_000_000_000_000

export class ObjectDirectory implements Directory {
  readonly #parts: SharedStoreOptions

  constructor(parts: SharedStoreOptions) {
    this.#parts = parts
  }

  get #local(): SharedStoreOptions["directory"] {
    return this.#parts.directory
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    const deliveries: Delivery[] = []
    // One after the other: those to one instance stay in their order. Those to the own one are one write of the object all the same.
    for (const message of messages) {
      const { instance } = message
      const to = instance === this.#parts.own() ? this.#local : this.#parts.network.peer(instance)
      deliveries.push(...(await to.deliver([message])))
    }
    this.#parts.onWritten()
    return deliveries
  }

  async deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created"> {
    const { keys, onWritten } = this.#parts
    const { instance: id, incarnation } = create
    const unique = create.create?.flow?.unique ?? []
    const deliver = () => {
      this.#parts.onWriting?.()
      this.#parts.last.turn = undefined
      return this.#local.deliverOrCreate(message, create)
    }
    const isThere = async () => (await this.#local.get(id)) !== undefined
    if (keys && unique.length > 0) this.#parts.onWriting?.()
    if (keys && unique.length > 0 && !(await isThere())) {
      const delivery = await keys.withKeys({ id, incarnation }, unique, deliver, onWritten)
      if (delivery !== undefined) return delivery
      // Another has a key, or another call was first and the instance is there now.
      if (!(await isThere())) return "absent"
    }
    const delivery = await deliver()
    onWritten()
    return delivery
  }

  get(id: string): Promise<InstanceRow | undefined> {
    return this.#parts.own() === id ? this.#local.get(id) : this.#parts.network.peer(id).get()
  }

  /** What concerns all instances is asked of the index, by clients. */
  async list(): Promise<never> {
    throw notHere()
  }

  async count(): Promise<never> {
    throw notHere()
  }

  async workers(): Promise<readonly WorkerLease[]> {
    const { worker } = this.#parts.lease
    return worker === undefined ? [] : [{ worker, until: lastInstant }]
  }

  async remove(ids: readonly string[]): Promise<readonly string[]> {
    this.#parts.last.turn = undefined
    const removed = await this.#local.remove(ids)
    this.#parts.onWritten()
    return removed
  }

  async changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage> {
    const { changes } = this.#parts
    if (changes === undefined) throw notHere()
    return changes.changes(after, limit, instance)
  }

  async latestChange(): Promise<never> {
    throw notHere()
  }
}

function notHere(): Error {
  return new Error("the object of an instance knows nothing of all the others")
}
