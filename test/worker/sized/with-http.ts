import { workflow } from "perdure"
import { composeWorkflowRunner, createWorkerApp, history } from "perdure/cloudflare"

const one = workflow("one", async (ctx, name: string) => ctx.do("greet", () => `Hello, ${name}!`))

export const WorkflowRunner = composeWorkflowRunner({ workflows: [one], parts: [history] })

export default createWorkerApp()
