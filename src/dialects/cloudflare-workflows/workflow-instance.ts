import type { Client, Handle } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import {
  deleteInstance,
  pauseInstance,
  restartInstance,
  resumeInstance,
  terminateInstance,
  type WorkflowInstanceRestartOptions,
  withKnownErrors,
} from "./instance-calls.ts"
import { nativeId } from "./instance-id.ts"
import { type InstanceStatus, instanceStatus } from "./instance-status.ts"
import { subscribe, type WorkflowInstanceSubscribeOptions, type WorkflowInstanceSubscription } from "./instance-subscription.ts"
import { asStep } from "./step-call.ts"
import { refused } from "./workflow-errors.ts"

/** Where an instance is: its workflow, the native client, and the word for it in step names. */
export interface InstancePlace {
  readonly binding: string
  readonly workflow: string
  readonly client: () => Client | Promise<Client>
}

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
    return this.#call("pause", async (handle) => void (await pauseInstance(handle)))
  }

  /** Does nothing unless the instance is paused. */
  resume(): Promise<void> {
    return this.#call("resume", async (handle) => void (await resumeInstance(handle)))
  }

  /** Ends the instance. Throws for one that has ended. */
  terminate({ rollback = false }: { rollback?: boolean } = {}): Promise<void> {
    return this.#call("terminate", async (handle) => void (await terminateInstance(handle, { rollback })))
  }

  /** Begins the instance anew; with `from`, what was recorded before that step is kept. */
  restart({ from }: WorkflowInstanceRestartOptions = {}): Promise<void> {
    return this.#call("restart", async (handle) => void (await restartInstance(handle, from)))
  }

  /** Deletes the instance and all that is stored of it, whatever it is doing. */
  delete(): Promise<void> {
    return this.#call("delete", async (handle) => {
      try {
        await deleteInstance(handle)
      } catch (error) {
        throw PerdureError.is(error, "NOT_FOUND") ? refused("instance.not_found", "Instance does not exist") : error
      }
    })
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
