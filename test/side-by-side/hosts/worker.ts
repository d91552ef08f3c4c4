// The Worker of both hosts in workerd: `GET /3` drives the fourth program with the bindings of the engine.

import type { WorkflowBinding } from "perdure/cloudflare-workflows"
import { allPrograms } from "../features.ts"
import { observe, type Program } from "../program.ts"

export type Bindings = Readonly<Record<string, WorkflowBinding>>

export async function answer(request: Request, bindings: Bindings): Promise<Response> {
  const index = Number(new URL(request.url).pathname.slice(1))
  try {
    return Response.json({ shown: await observe(allPrograms[index] as Program, bindings) })
  } catch (error) {
    return Response.json({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}
