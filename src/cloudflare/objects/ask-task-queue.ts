import { PerdureError } from "../../core/errors.ts"
import { decodeAnswer, encodeCall } from "./instance-rpc-methods.ts"
import type { RunnerStub } from "./object-rpc.ts"
import type { TaskQueueMethod } from "./task-queue-object.ts"

/** Calls a method of a task queue by the stub of its object. Throws `UNREACHABLE` if the object does not answer. */
export async function askTaskQueue(
  stub: Pick<RunnerStub, "askTaskQueue">,
  queue: string,
  method: TaskQueueMethod,
  ...args: readonly unknown[]
): Promise<unknown> {
  let answer: string
  try {
    answer = await stub.askTaskQueue(method, encodeCall(args))
  } catch (cause) {
    if (PerdureError.is(cause)) throw cause
    throw new PerdureError("UNREACHABLE", `the object of task queue "${queue}" did not answer; try again`, { details: { queue }, cause })
  }
  return decodeAnswer(answer)
}
