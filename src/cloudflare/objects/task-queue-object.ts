import { decodeValue } from "../../core/values/value-codec.ts"
import { PerdureError } from "../../core/errors.ts"
import type { ClaimedActivity, ClaimOptions, FailOptions, HeartbeatOptions, QueueInfo, TaskReference } from "../../client-api/task-control.ts"
import type { EngineSettings } from "../../engine/settings.ts"
import { listQueues } from "../../engine/tasks/queue-list.ts"
import { StoredTasks } from "../../engine/tasks/stored-tasks.ts"
import { Timers } from "../../engine/worker/timers.ts"
import type { Delivery } from "../../ports/directory.ts"
import type { OutgoingMessage } from "../../ports/cloudflare/object-tables.ts"
import type { TaskQueueRows } from "../../ports/cloudflare/task-queue.ts"
import type { TaskStore } from "../../ports/task-store.ts"
import type { TaskQueuePublisher } from "../store/task-queue-publisher.ts"
import { TaskQueueStore } from "../store/task-queue-store.ts"
import { setAlarm } from "./alarm-time.ts"
import type { BackgroundSender } from "./instance-object.ts"
import type { ObjectHost } from "./object-host.ts"
import type { ObjectStorage } from "../platform/platform.ts"

/** The delay after an alarm that failed. */
const retryMs = 1_000
const expireMax = 500

export interface TaskQueueObjectOptions {
  readonly storage: ObjectStorage
  readonly rows: TaskQueueRows
  /** Sends the endings of tasks to the objects of their instances. */
  readonly outbox: BackgroundSender
  /** Lists the queue in the index. */
  readonly index: Pick<TaskQueuePublisher, "send" | "retryAt" | "settled" | "remove">
  readonly host: ObjectHost
  readonly settings: EngineSettings
}

/** The options of a claim over RPC. `claimId` names the claim, so that its caller can end the wait. */
export type QueueClaimOptions = Omit<ClaimOptions, "signal"> & { readonly claimId: string }

export type TaskQueueMethod = keyof ReturnType<TaskQueueObject["methods"]>

/**
 * The tasks of one queue in one Durable Object.
 *
 *   empty ──order of an instance, or a worker──► listed ──all tasks have ended, no worker comes for a day──► not listed ──► empty
 *
 * The objects of instances order it to begin and to end tasks, workers claim and end them, and the object's alarm ends those whose time is over. In the state
 * `empty` the object's storage is deleted.
 */
export class TaskQueueObject {
  readonly #options: TaskQueueObjectOptions
  readonly #tasks: TaskStore
  readonly #control: StoredTasks
  readonly #methods: ReturnType<TaskQueueObject["methods"]>
  /** The claims that wait for tasks. */
  readonly #waiting = new Map<string, AbortController>()

  constructor(options: TaskQueueObjectOptions) {
    const { rows, host, settings } = options
    this.#options = options
    this.#tasks = new TaskQueueStore(rows, () => this.#afterWrite())
    // Instances learn of endings by messages, so there is nobody to hint at.
    const server = { host, settings, timers: new Timers(host), hint: () => undefined }
    this.#control = new StoredTasks(this.#tasks, server, () => undefined)
    this.#methods = this.methods()
  }

  async receive(from: string, orders: readonly OutgoingMessage[]): Promise<readonly Delivery[]> {
    const { rows } = this.#options
    rows.prepare()
    const deliveries = rows.receive(from, orders)
    this.#afterWrite()
    this.#control.onTasks()
    return deliveries
  }

  /** Calls a method of the queue, with its arguments encoded. */
  async call(method: string, args: string): Promise<unknown> {
    if (!Object.hasOwn(this.#methods, method)) throw new PerdureError("UNKNOWN_ROUTE", `the object of a task queue has no method ${JSON.stringify(method)}`)
    const call = this.#methods[method as TaskQueueMethod] as (...args: readonly unknown[]) => unknown
    return call(...(decodeValue(args) as readonly unknown[]))
  }

  methods() {
    return {
      claim: (queue: string, options: QueueClaimOptions) => this.#claim(queue, options),
      stopWaiting: (claimId: string): void => this.#waiting.get(claimId)?.abort(),
      giveBack: (tasks: readonly TaskReference[]): Promise<void> => this.#control.giveBack(tasks),
      heartbeat: (task: TaskReference, options?: HeartbeatOptions): Promise<void> => this.#control.heartbeat(task, options),
      complete: (task: TaskReference, result?: unknown): Promise<void> => this.#control.complete(task, result),
      fail: (task: TaskReference, error: unknown, options?: FailOptions): Promise<void> => this.#control.fail(task, error, options),
      // Whoever asks how a task stands does not need its input, which may be long.
      find: async (ids: readonly string[]) => (await this.#tasks.find(ids)).map((task) => ({ ...task, input: "" })),
      depths: () => this.#tasks.depths(),
      workers: () => this.#tasks.workers(),
      info: (): Promise<readonly QueueInfo[]> => listQueues(this.#tasks),
    }
  }

  async #claim(queue: string, { claimId, ...options }: QueueClaimOptions): Promise<readonly ClaimedActivity[]> {
    const controller = new AbortController()
    this.#waiting.set(claimId, controller)
    try {
      const claimed = await this.#control.claim(queue, { ...options, signal: controller.signal })
      // A caller that has a task finds its queue in the list of queues, unless the index is down.
      if (claimed.length > 0) await this.#options.index.settled
      return claimed
    } finally {
      this.#waiting.delete(claimId)
    }
  }

  /** Never throws: the platform gives up an alarm that has failed a few times. */
  async alarm(): Promise<void> {
    const { rows, outbox, index, host, storage } = this.#options
    try {
      if (!rows.isThere()) return
      await this.#tasks.expire(expireMax)
      outbox.send(this.#onSent, true)
      index.send(this.#onSent, true)
      await this.#deleteIfEmpty()
      this.#updateAlarm()
    } catch (error) {
      host.log.error("the alarm of a task queue failed; it is set again", { error })
      await storage.setAlarm(host.now() + retryMs)
    }
  }

  #afterWrite(): void {
    this.#options.outbox.send(this.#onSent)
    this.#options.index.send(this.#onSent)
    this.#updateAlarm()
  }

  readonly #onSent = (): void => this.#updateAlarm()

  #updateAlarm(): void {
    const { rows, outbox, index, host, storage } = this.#options
    if (!rows.isThere()) return
    const times = [rows.nextExpiresAt(), outbox.retryAt, index.retryAt, rows.emptyAt()]
    const at = Math.min(...times.map((time) => time ?? Infinity))
    const now = host.now()
    if (at === Infinity) void storage.deleteAlarm()
    else setAlarm(storage, Math.max(at, now), now, host.log)
  }

  /** Deletes the storage of a queue that nobody uses, after it was removed from the index. */
  async #deleteIfEmpty(): Promise<void> {
    const { rows, index, storage } = this.#options
    if (!this.#isIdle()) return
    await index.remove()
    // An order may have come meanwhile. Then the queue is listed again.
    if (!this.#isIdle()) return this.#afterWrite()
    rows.forget()
    await Promise.all([storage.deleteAll(), storage.deleteAlarm()])
  }

  #isIdle(): boolean {
    const { rows, host } = this.#options
    const at = rows.isThere() ? rows.emptyAt() : undefined
    return at !== undefined && at <= host.now()
  }
}
