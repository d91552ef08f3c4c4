import { PerdureError } from "../../core/errors.ts"
import { type BindingSession, sessionOf } from "./binding-session.ts"
import { InstanceIntrospector } from "./instance-introspector.ts"
import { InstanceModifier } from "./instance-modifier.ts"
import type { WorkflowInstanceIntrospector, WorkflowInstanceModifier, WorkflowIntrospector } from "./introspection.ts"

/** A binding of a program for Cloudflare Workflows. */
export interface IntrospectableBinding {
  /** Finds an instance, as bindings do. */
  get(id: string): Promise<{ readonly id: string }>
}

/**
 * Changes one instance of a workflow in a test, and waits for it, as the function of `cloudflare:test` does. The instance need not exist yet. `binding` is of
 * the `env` of `createWorkflowsTestEngine`; throws `BAD_OPTION` for another one.
 *
 * @example
 * await using instance = await introspectWorkflowInstance(env.CHECKOUT, "c-1")
 * await instance.modify(async (m) => m.mockStepResult({ name: "charge" }, "charged"))
 * await env.CHECKOUT.create({ id: "c-1" })
 * await instance.waitForStatus("complete")
 */
export async function introspectWorkflowInstance(binding: IntrospectableBinding, instanceId: string): Promise<WorkflowInstanceIntrospector> {
  const session = sessionOf(binding)
  if (typeof instanceId !== "string" || instanceId === "")
    throw new PerdureError("BAD_OPTION", "the id of the instance is missing; give it as the second argument")
  return new InstanceIntrospector(session, instanceId)
}

/**
 * Changes all instances of a workflow that a test creates from now on, as the function of `cloudflare:test` does. Throws `BAD_OPTION` if the workflow is
 * observed already: dispose of the other introspector before.
 *
 * @example
 * await using introspector = await introspectWorkflow(env.CHECKOUT)
 * await introspector.modifyAll(async (m) => m.disableSleeps())
 * await env.CHECKOUT.create()
 * for (const instance of await introspector.get()) await instance.waitForStatus("complete")
 */
export async function introspectWorkflow(binding: IntrospectableBinding): Promise<WorkflowIntrospector> {
  const session = sessionOf(binding)
  if (session.isObserved) throw new PerdureError("BAD_OPTION", `workflow "${session.workflow}" is observed already; dispose of the other introspector before`)
  session.isObserved = true
  return new ObservedWorkflow(session, await session.storedIds())
}

class ObservedWorkflow implements WorkflowIntrospector {
  readonly #session: BindingSession
  readonly #createdBefore: number
  readonly #modifier: InstanceModifier
  readonly #instances = new Map<string, InstanceIntrospector>()
  #isOver = false

  constructor(session: BindingSession, stored: ReadonlySet<string>) {
    this.#session = session
    this.#createdBefore = session.createdCount
    this.#modifier = new InstanceModifier(session, (id) => !stored.has(id))
  }

  async modifyAll(fn: (modifier: WorkflowInstanceModifier) => Promise<void>): Promise<void> {
    await fn(this.#modifier)
  }

  async get(): Promise<WorkflowInstanceIntrospector[]> {
    // The engine tells of an instance after the call that created it was answered.
    await this.#session.engine.settle()
    for (const id of this.#session.createdAfter(this.#createdBefore))
      if (!this.#instances.has(id)) this.#instances.set(id, new InstanceIntrospector(this.#session, id))
    return [...this.#instances.values()]
  }

  dispose = async (): Promise<void> => {
    if (this.#isOver) return
    this.#isOver = true
    this.#modifier.undo()
    try {
      for (const instance of await this.get()) await instance.dispose()
    } finally {
      this.#session.isObserved = false
    }
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }
}
