import { PerdureError } from "../../core/errors.ts"
import { loadRun } from "../runner/run-loader.ts"
import type { WriteScope } from "./write-scope.ts"
import type { StartRequest } from "./instance-starter.ts"

/** What a start that was lost is told: what is there in its place. */

/** The start was sent again: what is there is what it began. */
export async function isRetriedStart({ store }: WriteScope, id: string, requestId: string | undefined): Promise<boolean> {
  return requestId !== undefined && (await store.directory.get(id))?.incarnation === requestId
}

/** Throws where the instance that has the id is another. */
export async function isEqualStart({ store }: WriteScope, { instance, start }: StartRequest): Promise<boolean> {
  const row = await store.directory.get(instance.id)
  if (!row) return false
  const { recorded } = await loadRun(store.journal, row)
  const first = recorded[0]?.entry
  if (row.workflow === instance.workflow && first?.type === "run.started" && first.value.text === start.value.text) return true
  const what = row.workflow === instance.workflow ? "another input" : `workflow "${row.workflow}"`
  throw new PerdureError("ID_CONFLICT", `instance "${instance.id}" exists with ${what}; choose another id`, { details: { instance: instance.id } })
}
