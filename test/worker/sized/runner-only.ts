import { workflow } from "perdure"
import { createWorkflowRunner } from "perdure/cloudflare"

const one = workflow("one", async (ctx, name: string) => ctx.do("greet", () => `Hello, ${name}!`))

export const WorkflowRunner = createWorkflowRunner({ workflows: [one] })

export default { fetch: (): Response => new Response("nothing here") }
