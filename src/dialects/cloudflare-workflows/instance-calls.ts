import type { ControlResult, Handle, TerminateOptions } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { instanceNotFound, refused } from "./workflow-errors.ts"

/** Calls of one instance that differ from the native ones: what bindings and HTTP share. */

/** Options of `restart`. */
export interface WorkflowInstanceRestartOptions {
  /** The step to begin with. `count`, by default 1, tells several of that name apart; `type` is by default `"do"`. */
  from?: { name: string; count?: number; type?: "do" | "sleep" | "waitForEvent" }
}

const kindOf = { do: "do", sleep: "sleep", waitForEvent: "wait" } as const

/** Throws for an instance that has ended. */
export async function terminateInstance(handle: Handle, options: TerminateOptions): Promise<ControlResult> {
  const result = await handle.terminate(options)
  if (!result.accepted) throw refused("instance.cannot_terminate", "Cannot terminate instance since its on a finite state")
  return result
}

/** Throws for a step that the instance never began. */
export async function restartInstance(handle: Handle, from: WorkflowInstanceRestartOptions["from"]): Promise<ControlResult> {
  const step = from && stepIdOf(await handle.steps(), from)
  return handle.restart(step === undefined ? {} : { from: step })
}

/** Deletes an instance, whatever it is doing. */
export async function deleteInstance(handle: Handle): ReturnType<Handle["delete"]> {
  try {
    return await handle.delete()
  } catch (error) {
    if (!PerdureError.is(error, "NOT_ENDED")) throw error
    await handle.terminate()
    return handle.delete()
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
