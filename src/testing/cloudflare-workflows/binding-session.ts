import { PerdureError } from "../../core/errors.ts"
import { shortId } from "../../dialects/cloudflare-workflows/instance-id.ts"
import type { EnqueuedInstance } from "../../engine/enqueued-hook.ts"
import { type InstanceChoice, isChosen } from "../selected-instances.ts"
import type { TestEngine } from "../test-engine.ts"

interface MockedEvent {
  readonly instance: InstanceChoice
  readonly type: string
  readonly payload: unknown
}

/** What a test engine knows about the instances of one binding. */
export class BindingSession {
  readonly engine: TestEngine
  /** The native name of the workflow. */
  readonly workflow: string
  /** Whether `introspectWorkflow` observes the workflow. */
  isObserved = false
  /** The native ids of the instances that were created, in order. */
  readonly #created: string[] = []
  readonly #events = new Set<MockedEvent>()

  constructor(engine: TestEngine, workflow: string) {
    this.engine = engine
    this.workflow = workflow
  }

  /** The number of instances that were created so far. */
  get createdCount(): number {
    return this.#created.length
  }

  /** The short ids of the instances that were created after the first `skipped` ones. */
  createdAfter(skipped: number): readonly string[] {
    return [...new Set(this.#created.slice(skipped))].map((id) => shortId(this.workflow, id))
  }

  /** The native ids of all instances. */
  async storedIds(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>()
    let cursor: string | undefined
    do {
      const page = await this.engine.list({ workflow: this.workflow, limit: 1_000, ...(cursor === undefined ? undefined : { cursor }) })
      for (const { id } of page.instances) ids.add(id)
      cursor = page.cursor
    } while (cursor !== undefined)
    return ids
  }

  /** An instance that is started again gets its mocked events again. */
  async onEnqueued({ id, reason }: EnqueuedInstance): Promise<void> {
    if (reason !== "start") return
    this.#created.push(id)
    for (const event of this.#events) if (isChosen(event.instance, id)) await this.#send(id, event)
  }

  /** Sends an event to an instance that exists, and to chosen instances when they start. */
  async mockEvent(event: MockedEvent): Promise<Disposable> {
    this.#events.add(event)
    if (typeof event.instance === "string") await this.#send(event.instance, event)
    return { [Symbol.dispose]: () => void this.#events.delete(event) }
  }

  async #send(id: string, { type, payload }: MockedEvent): Promise<void> {
    try {
      await this.engine.get(id).sendEvent(type, payload)
    } catch (error) {
      // The instance does not exist yet, or has ended.
      if (!PerdureError.is(error, "NOT_FOUND") && !PerdureError.is(error, "INSTANCE_ENDED")) throw error
    }
  }
}

const sessions = new WeakMap<object, BindingSession>()

export function setSession(binding: object, session: BindingSession): void {
  sessions.set(binding, session)
}

export function sessionOf(binding: object): BindingSession {
  const session = typeof binding === "object" && binding !== null ? sessions.get(binding) : undefined
  if (session) return session
  throw new PerdureError("BAD_OPTION", "the first argument is no binding of a test engine; give one of the env that createWorkflowsTestEngine answers with")
}
