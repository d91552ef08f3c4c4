import type { Client, Handle } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { nativeId } from "./instance-id.ts"
import { type InstanceStatus, instanceStatus } from "./instance-status.ts"
import { subscribe, type WorkflowInstanceSubscribeOptions, type WorkflowInstanceSubscription } from "./instance-subscription.ts"
import { asStep } from "./step-call.ts"
import { instanceNotFound, refused } from "./workflow-errors.ts"

/** Where an instance is: its workflow, the native client, and the word for it in step names. */
export interface InstancePlace {
  readonly binding: string
  readonly workflow: string
  readonly client: () => Client | Promise<Client>
}

/** Options of `restart`. */
export interface WorkflowInstanceRestartOptions {
  /** The step to begin with. `count`, by default 1, tells several of that name apart; `type` is by default `"do"`. */
  from?: { name: string; count?: number; type?: "do" | "sleep" | "waitForEvent" }
}

const kindOf = { do: "do", sleep: "sleep", waitForEvent: "wait" } as const

/** A handle of one instance. Inside workflow code each call is a step of its own. */
export class WorkflowInstance {
  /** Unique in the workflow. */
  readonly id: string
  readonly #place: InstancePlace

  constructor(place: InstancePlace, id: string) {
    this.#place = place
    this.id = id
  }

  /** Does nothing unless the instance runs or waits. */
  pause(): Promise<void> {
    return this.#call("pause", async (handle) => void (await handle.pause()))
  }

  /** Does nothing unless the instance is paused. */
  resume(): Promise<void> {
    return this.#call("resume", async (handle) => void (await handle.resume()))
  }

  /** Ends the instance. Throws for one that has ended. */
  terminate({ rollback = false }: { rollback?: boolean } = {}): Promise<void> {
    return this.#call("terminate", async (handle) => {
      const { accepted } = await handle.terminate({ rollback })
      if (!accepted) throw refused("instance.cannot_terminate", "Cannot terminate instance since its on a finite state")
    })
  }

  /** Begins the instance anew; with `from`, what was recorded before that step is kept. */
  restart({ from }: WorkflowInstanceRestartOptions = {}): Promise<void> {
    return this.#call("restart", async (handle) => {
      const step = from && stepIdOf(await handle.steps(), from)
      await handle.restart(step === undefined ? {} : { from: step })
    })
  }

  /** Deletes the instance and all that is stored of it, whatever it is doing. */
  delete(): Promise<void> {
    return this.#call("delete", deleteInstance)
  }

  /** What the instance is doing, and what it came to. */
  status(): Promise<InstanceStatus> {
    return this.#call("status", async (handle) => instanceStatus(await handle.describe()))
  }

  /** Throws for an instance that has ended: the event would be lost. */
  sendEvent({ type, payload }: { type: string; payload: unknown }): Promise<void> {
    return this.#call("sendEvent", (handle) => handle.sendEvent(type, payload))
  }

  /** The events of the instance, in order: those after `cursor`, then new ones until it ends. */
  async subscribe(options: WorkflowInstanceSubscribeOptions = {}): Promise<WorkflowInstanceSubscription> {
    const { workflow, client } = this.#place
    return withKnownErrors(async () => subscribe((await client()).get(nativeId(workflow, this.id)), this.id, options))
  }

  #call<T>(method: string, call: (handle: Handle) => Promise<T>): Promise<T> {
    const { binding, workflow, client } = this.#place
    return asStep(`${binding}.${method} ${this.id}`, () => withKnownErrors(async () => call((await client()).get(nativeId(workflow, this.id)))))
  }
}

export async function deleteInstance(handle: Handle): Promise<void> {
  try {
    await handle.delete()
  } catch (error) {
    if (!PerdureError.is(error, "NOT_ENDED")) throw error
    await handle.terminate()
    await handle.delete()
  }
}

export async function withKnownErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (PerdureError.is(error, "NOT_FOUND")) throw instanceNotFound()
    throw error
  }
}

/** The native id of the n-th step of that name and kind. */
function stepIdOf(steps: readonly StepInfo[], { name, count = 1, type = "do" }: NonNullable<WorkflowInstanceRestartOptions["from"]>): string {
  const named = steps.filter((step) => step.parentId === undefined && step.name === name && step.type === kindOf[type])
  const step = named[count - 1]
  if (step === undefined) throw refused("instance.cannot_restart", `Step "${name}" not found in execution history`)
  return step.id
}
