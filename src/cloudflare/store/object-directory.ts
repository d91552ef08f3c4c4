import type { ChangePage } from "../../ports/change-stream.ts"
import type { Delivery, Directory, WorkerLease } from "../../ports/directory.ts"
import type { InstanceRow, NewMessage, Turn } from "../../ports/journal-store.ts"
import type { SharedStoreState } from "./object-store.ts"

/** The latest instant that a Date can hold. */
const lastInstant = 8_640_000_000_000_000

/** The directory of one object: its own instance in its database, other instances over RPC. Clients ask the index about all instances, not the object. */
export class ObjectDirectory implements Directory {
  readonly #options: SharedStoreState

  constructor(options: SharedStoreState) {
    this.#options = options
  }

  get #local(): SharedStoreState["directory"] {
    return this.#options.directory
  }

  async deliver(messages: readonly NewMessage[]): Promise<readonly Delivery[]> {
    const deliveries: Delivery[] = []
    // Messages are delivered one after another, so messages to one instance stay in order. The platform merges those to the own instance into one write.
    for (const message of messages) {
      const { instance } = message
      const to = instance === this.#options.ownId() ? this.#local : this.#options.network.peer(instance)
      deliveries.push(...(await to.deliver([message])))
    }
    this.#options.afterWrite()
    return deliveries
  }

  async deliverOrCreate(message: NewMessage, create: Turn): Promise<Delivery | "created"> {
    const { keys, afterWrite } = this.#options
    const { instance: id, incarnation } = create
    const unique = create.create?.flow?.unique ?? []
    const deliver = () => {
      this.#options.beforeFirstWrite()
      this.#options.last.turn = undefined
      return this.#local.deliverOrCreate(message, create)
    }
    const isThere = async () => (await this.#local.get(id)) !== undefined
    if (unique.length > 0) this.#options.beforeFirstWrite()
    if (unique.length > 0 && !(await isThere())) {
      const delivery = await keys.withKeys({ id, incarnation }, unique, deliver, afterWrite)
      if (delivery !== undefined) return delivery
      // Another instance has a key, or a concurrent call has created the instance.
      if (!(await isThere())) return "absent"
    }
    const delivery = await deliver()
    afterWrite()
    return delivery
  }

  get(id: string): Promise<InstanceRow | undefined> {
    const { scheduling, ownId, network } = this.#options
    if (scheduling) return scheduling.get(id)
    return ownId() === id ? this.#local.get(id) : network.peer(id).get()
  }

  async list(): Promise<never> {
    throw notHere()
  }

  async count(): Promise<never> {
    throw notHere()
  }

  async workers(): Promise<readonly WorkerLease[]> {
    const { worker } = this.#options.lease
    return worker === undefined ? [] : [{ worker, until: lastInstant }]
  }

  async remove(ids: readonly string[]): Promise<readonly string[]> {
    this.#options.last.turn = undefined
    const removed = await this.#local.remove(ids)
    this.#options.afterWrite()
    return removed
  }

  async changes(after: string | undefined, limit: number, instance?: string): Promise<ChangePage> {
    return this.#options.changes.changes(after, limit, instance)
  }

  async latestChange(): Promise<string> {
    return this.#options.changes.latestChange()
  }
}

function notHere(): Error {
  return new Error("the object of an instance has no list of other instances; ask the index")
}
