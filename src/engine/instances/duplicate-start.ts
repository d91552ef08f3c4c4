import { PerdureError } from "../../core/errors.ts"
import { loadRun } from "../runner/run-loader.ts"
import type { WriteScope } from "./write-scope.ts"
import type { StartRequest } from "./instance-starter.ts"

/** A start that finds its id taken compares itself with the existing instance. */

/** True if the existing instance was created by this very request, which the caller has sent again. */
export async function isRetriedStart({ store }: WriteScope, id: string, requestId: string | undefined): Promise<boolean> {
  return requestId !== undefined && (await store.directory.get(id))?.incarnation === requestId
}

/** True if the existing instance has the workflow and the input of this start. Throws `ID_CONFLICT` if they differ. False if the instance is gone. */
export async function isEqualStart({ store }: WriteScope, { instance, start }: StartRequest): Promise<boolean> {
  const row = await store.directory.get(instance.id)
  if (!row) return false
  const { recorded } = await loadRun(store.journal, row)
  const first = recorded[0]?.entry
  if (row.workflow === instance.workflow && first?.type === "run.started" && first.value.text === start.value.text) return true
  const what = row.workflow === instance.workflow ? "another input" : `workflow "${row.workflow}"`
  throw new PerdureError("ID_CONFLICT", `instance "${instance.id}" exists with ${what}; choose another id`, { details: { instance: instance.id } })
}
