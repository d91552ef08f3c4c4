import { PerdureError } from "../core/errors.ts"
import type { Client, InstanceDescription } from "../client-api/client-api.ts"
import type { Route } from "./route-definition.ts"
import type { Authorize } from "./settings.ts"

/** Calls the user's `authorize` hook, once for each action and each workflow of a request. Undefined: the request is allowed. */
export async function askPermission(authorize: Authorize, { route, request, client, params, body, describe }: PermissionCall): Promise<Response | undefined> {
  const { id, queue } = params
  const workflows = await workflowsOf({ route, client, params, body, describe })
  for (const action of route.actions) {
    for (const workflow of workflows) {
      const answer = await authorize({
        request,
        action,
        ...(workflow === undefined ? undefined : { workflow }),
        ...(id === undefined ? undefined : { id }),
        ...(queue === undefined ? undefined : { queue }),
      })
      if (answer instanceof Response) return answer
    }
  }
  return undefined
}

export interface PermissionCall {
  readonly route: Route
  readonly request: Request
  readonly client: Client
  readonly params: Readonly<Record<string, string>>
  /** Undefined: the body is not read yet, or does not fit the route. */
  readonly body: unknown
  readonly describe: () => Promise<InstanceDescription>
}

/** The workflows in the body, and the workflow of the address. The hook has to allow all of them. */
async function workflowsOf({ route, client, params, body, describe }: Omit<PermissionCall, "request">): Promise<readonly (string | undefined)[]> {
  const named = body !== undefined && route.workflowsOf ? route.workflowsOf(body) : []
  const addressed =
    params["workflow"] ??
    (params["id"] === undefined
      ? undefined
      : await workflowOf(route.path.startsWith("/schedules/") ? () => client.schedules.get(params["id"] ?? "").describe() : describe))
  const all = new Set([...named, ...(addressed === undefined ? [] : [addressed])])
  return all.size === 0 ? [undefined] : [...all]
}

async function workflowOf(describe: () => Promise<{ readonly workflow: string }>): Promise<string | undefined> {
  try {
    return (await describe()).workflow
  } catch (error) {
    if (PerdureError.is(error, "NOT_FOUND") || PerdureError.is(error, "SCHEDULE_NOT_FOUND")) return undefined
    throw error
  }
}
