// The program in Durable Objects of Perdure: one class and one binding for all workflows.

import { createWorkflowRunner } from "perdure/cloudflare"
import { cloudflareBindings, cloudflareWorkflows } from "perdure/cloudflare-workflows"
import { Checkout, type Order, Parcel } from "./checkout.ts"

const workflows = { CHECKOUT: Checkout, PARCEL: Parcel }
const ledger: string[] = []

export const WorkflowRunner = createWorkflowRunner({ workflows: cloudflareWorkflows(workflows, { extraEnv: { LEDGER: ledger } }) })

export default {
  /** `POST /c-1` creates an instance, `POST /c-1/approval` sends it an event, and `GET /c-1` shows its status. */
  async fetch(request: Request, env: { WORKFLOW_RUNNER: Parameters<typeof cloudflareBindings>[0] }): Promise<Response> {
    const { CHECKOUT: checkout } = cloudflareBindings(env.WORKFLOW_RUNNER, workflows)
    const [, id = "", type] = new URL(request.url).pathname.split("/")
    if (id === "ledger") return Response.json(ledger)
    if (request.method === "GET") return Response.json(await (await checkout.get(id)).status())
    if (type === undefined) return Response.json({ id: (await checkout.create({ id, params: (await request.json()) as Order })).id })
    await (await checkout.get(id)).sendEvent({ type, payload: await request.json() })
    return Response.json({ id, type })
  },
}
