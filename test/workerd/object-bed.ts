import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test"
import { DurableObject, type DurableObjectNamespace, type DurableObjectState, type DurableObjectStub, env } from "cloudflare:workers"
import { type AnyWorkflow, type Client, type Duration, type EventMap, type Handle, PerdureError, type SendOrStartOptions, type StartOptions } from "perdure"
import { createWorkflowRunner, workflowClient, type WorkflowRunnerClass } from "perdure/cloudflare"
import type { TestEngine } from "perdure/testing"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { durationMs } from "../../src/core/time/duration.ts"
import type { BedOptions } from "../../src/testing/scenarios/scenario-bed.ts"
import { StepMocks } from "../../src/testing/step-mocks.ts"
import { inObject, type Place, VirtualTime } from "./virtual-time.ts"

let current: ObjectBed | undefined
let beds = 0

type Methods = Record<string, (...args: unknown[]) => unknown>

/** An object of the current bed. */
export class BedRunner extends DurableObject {
  readonly runner: Methods
  readonly place: Place

  constructor(state: DurableObjectState, itsEnv: unknown) {
    super(state, itsEnv)
    if (current === undefined) throw new Error("there is an object only while a story runs")
    const { place, runner } = current.objectFor(state)
    this.place = place
    this.runner = runner
  }
}

// Only methods of the class itself can be called over RPC.
for (const method of Object.getOwnPropertyNames(createWorkflowRunner({ workflows: [] }).prototype as object)) {
  if (method === "constructor") continue
  const value = function (this: BedRunner, ...args: unknown[]) {
    return inObject.run(this.place, () => this.runner[method]!(...args))
  }
  Object.defineProperty(BedRunner.prototype, method, { value })
}

/** Calls that may wait for ever. They do not count as work under way. */
const waiting = new Set(["result", "update"])
/** The time until a schedule gets the message that an instance ended. */
const endMs = 5
/** The time until the index gets the update of a running instance. Updates of ended or resting instances come earlier. */
const indexMs = 105
const quietRounds = 4

/** Real objects, one for each instance, in virtual time, behind the interface of a test engine that the scenarios need. */
export class ObjectBed {
  readonly time: VirtualTime
  readonly #options: BedOptions
  readonly #mocks = new StepMocks()
  readonly #places = new Map<string, Place>()
  readonly #alarms = new Map<string, number>()
  readonly #prefix = `${++beds}~`
  #runner: WorkflowRunnerClass
  #activity = 0
  #underWay = 0

  constructor(options: BedOptions) {
    this.#options = options
    this.time = new VirtualTime(Number(options.startAt ?? 1_767_225_600_000), (place, fn) => void this.#within(place.name, fn, place))
    this.#runner = this.#runnerOf(options.workflows)
    current = this
    this.time.install()
  }

  #runnerOf(workflows: BedOptions["workflows"]): WorkflowRunnerClass {
    const { workflows: _, startAt: __, seed: ___, wrap: ____, log, interceptors = [], ...options } = this.#options
    return createWorkflowRunner({
      ...options,
      interceptors: [(step, next) => this.#mocks.intercept(step, next), ...interceptors],
      workflows,
      binding: "BED",
      indexShards: 1,
      log: log ?? silentLogger,
    })
  }

  objectFor(state: DurableObjectState): { readonly place: Place; readonly runner: Methods } {
    const { storage } = state
    // Each bed has objects of its own, whose names have a prefix that the objects do not see.
    const name = (state.id.name ?? "").slice(this.#prefix.length)
    Object.defineProperty(state, "id", { value: { name }, configurable: true })
    const sync = storage.sync.bind(storage)
    const own = {
      sync: () => {
        this.#activity++
        return sync()
      },
      setAlarm: async (at: number) => this.#setAlarm(name, at),
      deleteAlarm: async () => this.#setAlarm(name, undefined),
    }
    for (const [method, value] of Object.entries(own)) Object.defineProperty(storage, method, { value, configurable: true })
    const place: Place = { name }
    this.#places.set(name, place)
    return { place, runner: inObject.run(place, () => new this.#runner(state as never, { BED: this.namespace } as never)) as unknown as Methods }
  }

  #setAlarm(name: string, at: number | undefined): void {
    this.time.clear(this.#alarms.get(name))
    this.#alarms.delete(name)
    if (at === undefined) return
    this.#alarms.set(
      name,
      this.time.setHere(at, () => void this.#ring(name)),
    )
  }

  async #ring(name: string): Promise<void> {
    this.#alarms.delete(name)
    await this.#within(name, (object) => object.alarm())
  }

  /** Calls `fn` in an object. With `by`, nothing is called if that object has left memory, because its timers are gone. */
  async #within(name: string, fn: (object: { alarm(): Promise<void> }) => unknown, by?: Place): Promise<void> {
    this.#underWay++
    try {
      await runInDurableObject(this.#stub(name), (object) => {
        const place = this.#places.get(name)
        return by === undefined || by === place ? inObject.run(place!, () => fn(object as { alarm(): Promise<void> })) : undefined
      })
    } finally {
      this.#activity++
      this.#underWay--
    }
  }

  get #real(): DurableObjectNamespace {
    return (env as { readonly BED: DurableObjectNamespace }).BED
  }

  #stub(name: string): DurableObjectStub {
    return this.#real.get(this.#real.idFromName(this.#prefix + name))
  }

  /** The binding, which counts calls under way. */
  get namespace(): { idFromName(name: string): unknown; get(id: never): unknown } {
    const real = this.#real
    return {
      idFromName: (name) => real.idFromName(this.#prefix + name),
      get: (id) => {
        const stub = real.get(id) as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
        return new Proxy(stub, {
          get:
            (_, method: string) =>
            async (...args: unknown[]) => {
              const isWork = !(method === "ask" && waiting.has(String(args[1])))
              if (isWork) this.#underWay++
              try {
                return await stub[method]!(...args)
              } finally {
                this.#activity++
                if (isWork) this.#underWay--
              }
            },
        })
      },
    }
  }

  get client(): Client {
    return workflowClient(this.namespace)
  }

  get start(): Client["start"] {
    return (async (workflow: AnyWorkflow | string, options?: StartOptions<unknown>) =>
      this.#handle((await this.client.start(workflow as string, options)).id)) as Client["start"]
  }

  get sendOrStart(): Client["sendOrStart"] {
    return (async (workflow: AnyWorkflow | string, options: SendOrStartOptions<unknown, EventMap, string>) =>
      this.#handle((await this.client.sendOrStart(workflow as string, options)).id)) as Client["sendOrStart"]
  }

  get get(): Client["get"] {
    return ((first: AnyWorkflow | string, second?: string) => this.#handle(typeof first === "string" ? first : (second ?? ""))) as Client["get"]
  }

  get startBatch(): Client["startBatch"] {
    return (items) => this.client.startBatch(items)
  }

  get list(): Client["list"] {
    return async (filter) => {
      await this.skip(indexMs)
      return this.client.list(filter)
    }
  }

  get count(): Client["count"] {
    return async (filter, by) => {
      await this.skip(indexMs)
      return this.client.count(filter, by)
    }
  }

  get changes(): Client["changes"] {
    return (cursor) => this.client.changes(cursor)
  }

  get schedules(): Client["schedules"] {
    return this.client.schedules
  }

  get limits(): Client["limits"] {
    return this.client.limits
  }

  async sendEvent(id: string, type: string, payload?: unknown, options?: { readonly eventId?: string }): Promise<void> {
    await this.#handle(id).sendEvent(type, payload, options)
    await this.skip(endMs)
  }

  now(): number {
    return this.time.now
  }

  async skip(duration: Duration): Promise<void> {
    await this.time.advanceTo(this.time.now + durationMs(duration, "skip"), () => this.settle())
  }

  async skipToEnd(id: string, timersMax = 10_000): Promise<void> {
    for (let fired = 0; fired < timersMax; fired++) {
      await this.settle()
      const { status } = await this.client.describe(id)
      if (["completed", "failed", "cancelled", "terminated"].includes(status)) return
      const at = this.time.nextAt()
      if (at === undefined || status === "paused" || status === "stalled") break
      await this.time.advanceTo(at, () => this.settle())
    }
    const why = await this.client.why(id)
    throw new PerdureError("STALLED", `instance "${id}" does not end when only time passes: ${why.because.join("; ")}`)
  }

  async settle(): Promise<void> {
    for (let quiet = 0; quiet < quietRounds;) {
      const before = this.#activity
      await VirtualTime.realMs(1)
      quiet = this.#underWay === 0 && this.#activity === before ? quiet + 1 : 0
    }
  }

  mockStep: TestEngine["mockStep"] = (workflow, step, mock, options) =>
    this.#mocks.add(typeof workflow === "string" ? workflow : workflow.name, step, mock, options ?? {})

  /** Aborts all objects, and fires the alarms that would wake them later. */
  async crash({ workflows }: { readonly workflows?: BedOptions["workflows"] } = {}): Promise<void> {
    if (workflows) this.#runner = this.#runnerOf(workflows)
    await abortAllDurableObjects()
    this.time.drop()
    this.#underWay = 0
    for (const name of [...this.#alarms.keys()]) {
      this.#setAlarm(name, undefined)
      await this.#ring(name)
    }
    await this.settle()
  }

  async evict(id: string): Promise<void> {
    await this.settle()
    // The object may already have left memory.
    await evictDurableObject(this.#stub(id)).catch(() => undefined)
    await this.settle()
  }

  get journal(): TestEngine["journal"] {
    return async (id) => {
      const object = this.namespace.get(this.namespace.idFromName(id) as never) as {
        peerGet(id: string): Promise<never>
        peerReadJournal(id: string, from: number): Promise<never>
      }
      const { incarnation, workflow, version, createdAt, tags } = (await object.peerGet(id)) as Record<string, never>
      return { instance: { id, incarnation, workflow, version, createdAt, tags }, rows: await object.peerReadJournal(id, 1) } as never
    }
  }

  get current(): never {
    throw new Error("there is no one engine here: each instance has its own, in its object")
  }

  get host(): never {
    return this.current
  }

  async close(): Promise<void> {
    if (current !== this) return
    await abortAllDurableObjects()
    this.time.drop()
    VirtualTime.restore()
    current = undefined
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #handle(id: string): Handle {
    const handle = this.client.get(id)
    const result: Handle["result"] = async (options) => {
      for (;;) {
        try {
          return await handle.result(options)
        } catch (error) {
          // The object died, so the call is repeated.
          if (!PerdureError.is(error, "UNREACHABLE")) throw error
          await VirtualTime.realMs(1)
        }
      }
    }
    return new Proxy(handle, {
      get: (target, name) => {
        if (name === "result") return result
        const value: unknown = Reflect.get(target, name)
        return typeof value === "function" ? (value.bind(target) as unknown) : value
      },
    })
  }
}
