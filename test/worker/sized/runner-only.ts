import { workflow } from "perdure"
import { composeWorkflowRunner } from "perdure/cloudflare"

const one = workflow("one", async (ctx, name: string) => ctx.do("greet", () => `Hello, ${name}!`))

export const WorkflowRunner = composeWorkflowRunner({ workflows: [one], parts: [] })

export default { fetch: (): Response => new Response("nothing here") }
