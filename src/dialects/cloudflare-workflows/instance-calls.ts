import type { ControlResult, Handle, InstanceDescription, TerminateOptions } from "../../client-api/client-api.ts"
import { PerdureError } from "../../core/errors.ts"
import type { StepInfo } from "../../core/journal/step-info.ts"
import { instanceNotFound, refused } from "./workflow-errors.ts"

/** Calls of one instance that differ from the native ones: what bindings and HTTP share. */

/** Options of `restart`. */
export interface WorkflowInstanceRestartOptions {
  /** The step to begin with. `count`, by default 1, tells several of that name apart; `type` is by default `"do"`. */
  from?: { name: string; count?: number; type?: "do" | "sleep" | "waitForEvent" }
}

const effectWaitMsMax = 1_000
const kindOf = { do: "do", sleep: "sleep", waitForEvent: "wait" } as const

export async function pauseInstance(handle: Handle): Promise<ControlResult> {
  const result = await handle.pause()
  if (result.accepted) await untilEffective(handle, isPausing)
  return result
}

export async function resumeInstance(handle: Handle): Promise<ControlResult> {
  const result = await handle.resume()
  if (result.accepted) await untilEffective(handle, isResumed)
  return result
}

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

/**
 * Waits until a control has taken effect. A worker that runs the instance acts on it a moment after it is stored, whereas a program for Cloudflare Workflows
 * may look at the status at once. The control stays stored if its effect takes longer.
 */
async function untilEffective(handle: Handle, hasTakenEffect: (instance: InstanceDescription) => boolean): Promise<void> {
  for (let ms = 4, waitedMs = 0; waitedMs < effectWaitMsMax; waitedMs += ms, ms = Math.min(2 * ms, 128)) {
    if (hasTakenEffect(await handle.describe())) return
    await new Promise((resolve) => setTimeout(resolve, ms))
  }
}

/** Paused, or about to be, or past that. */
function isPausing({ status, phase }: InstanceDescription): boolean {
  return phase === "pausing" || (status !== "running" && status !== "queued" && status !== "sleeping" && status !== "waiting")
}

function isResumed({ status, phase }: InstanceDescription): boolean {
  return phase !== "pausing" && status !== "paused"
}
