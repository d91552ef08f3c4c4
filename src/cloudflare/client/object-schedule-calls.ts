import type { ScheduleCalls, ScheduleCreation } from "../../client-api/schedule-calls.ts"
import type {
  BackfilledFiring,
  BackfillOptions,
  ScheduleControlResult,
  ScheduleDescription,
  ScheduleFilter,
  SchedulePage,
  ScheduleUpdate,
} from "../../client-api/schedule-client.ts"
import { workflowName } from "../../client-api/workflow-reference.ts"
import { PerdureError } from "../../core/errors.ts"
import { checkId } from "../../core/workflow/input-limits.ts"
import { decodeAnswer, encodeCall } from "../objects/instance-rpc-methods.ts"
import { stubOf } from "../objects/object-rpc.ts"
import type { ScheduleMethod } from "../objects/schedule-object.ts"
import type { ObjectNamespace } from "../platform/platform.ts"
import { scheduleName } from "../store/object-name.ts"
import type { IndexClient } from "./index-client.ts"

/** The calls on the schedules behind a binding, one Durable Object for each schedule. */
export class ObjectScheduleCalls implements ScheduleCalls {
  readonly #namespace: ObjectNamespace
  readonly #index: Pick<IndexClient, "listSchedules">

  constructor(namespace: ObjectNamespace, index: Pick<IndexClient, "listSchedules">) {
    this.#namespace = namespace
    this.#index = index
  }

  create(id: string, options: ScheduleCreation): Promise<void> {
    return this.#ask(id, "create", { ...options, workflow: workflowName(options.workflow) })
  }

  list(filter: ScheduleFilter): Promise<SchedulePage> {
    return this.#index.listSchedules(filter)
  }

  describe(id: string): Promise<ScheduleDescription> {
    return this.#ask(id, "describe")
  }

  update(id: string, changes: ScheduleUpdate): Promise<void> {
    return this.#ask(id, "update", changes)
  }

  pause(id: string, reason: string | undefined): Promise<ScheduleControlResult> {
    return this.#ask(id, "pause", reason)
  }

  resume(id: string): Promise<ScheduleControlResult> {
    return this.#ask(id, "resume")
  }

  trigger(id: string, options: { readonly input?: unknown }): Promise<string> {
    return this.#ask(id, "trigger", options)
  }

  backfill(id: string, options: BackfillOptions): Promise<readonly BackfilledFiring[]> {
    return this.#ask(id, "backfill", options)
  }

  delete(id: string): Promise<void> {
    return this.#ask(id, "delete")
  }

  async #ask<T>(id: string, method: ScheduleMethod, ...args: readonly unknown[]): Promise<T> {
    checkId(id)
    let answer: string
    try {
      answer = await stubOf(this.#namespace, scheduleName(id)).askSchedule(id, method, encodeCall(args))
    } catch (cause) {
      if (PerdureError.is(cause)) throw cause
      throw new PerdureError("UNREACHABLE", `the object of schedule "${id}" did not answer; try again`, { details: { schedule: id }, cause })
    }
    return decodeAnswer(answer) as T
  }
}
