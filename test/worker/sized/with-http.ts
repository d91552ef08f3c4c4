import { workflow } from "perdure"
import { createWorkerApp, createWorkflowRunner } from "perdure/cloudflare"

const one = workflow("one", async (ctx, name: string) => ctx.do("greet", () => `Hello, ${name}!`))

export const WorkflowRunner = createWorkflowRunner({ workflows: [one] })

export default createWorkerApp()
