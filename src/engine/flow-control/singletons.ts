import { PerdureError } from "../../core/errors.ts"
import type { FlowTraits, UniqueUse } from "../../ports/flow-control.ts"
import type { WriteScope } from "../instances/write-scope.ts"

export function singletonOf(flow: FlowTraits | undefined): UniqueUse | undefined {
  return flow?.unique?.find(({ kind }) => kind === "singleton")
}

export function singletonExists(holder: string): PerdureError {
  return new PerdureError(
    "SINGLETON_EXISTS",
    `instance "${holder}" is the only instance that a singleton allows, and has not ended; wait for it, terminate it, or say ifExists: "return" to get it`,
    { details: { instance: holder } },
  )
}

/** The instance that holds the singleton key; undefined if no instance does. */
export async function holderOf({ store }: Pick<WriteScope, "store">, flow: FlowTraits | undefined): Promise<string | undefined> {
  const singleton = singletonOf(flow)
  return singleton && store.flow.holder(singleton)
}
