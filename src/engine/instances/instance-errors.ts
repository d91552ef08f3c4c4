import { PerdureError } from "../../core/errors.ts"
import type { Status } from "../../core/journal/status.ts"

export function notFound(id: string): PerdureError {
  return new PerdureError("NOT_FOUND", `there is no instance "${id}"; it was never started, or is deleted`, { details: { instance: id } })
}

export function idExists(id: string): PerdureError {
  return new PerdureError("ID_EXISTS", `instance "${id}" exists; choose another id, or say ifExists: "return" to get it`, { details: { instance: id } })
}

/** An event was sent to an instance that has ended. The HTTP API answers 409. */
export function instanceEnded({ id, status }: { readonly id: string; readonly status?: Status }): PerdureError {
  return new PerdureError("INSTANCE_ENDED", `instance "${id}" has ended and takes no more events; restart it, or start another instance`, {
    details: { instance: id, ...(status === undefined ? undefined : { status }) },
  })
}
