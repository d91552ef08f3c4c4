import { createWorkflowRunner, type ObjectNamespace } from "perdure/cloudflare"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { sampleWorkflows } from "../../src/testing/client-conformance/sample-workflows.ts"

/** A character that no id contains. */
const mark = " "

/** Splits a binding into separate worlds: the names of a world's objects begin with the name of the world. */
export function worldOf(real: ObjectNamespace, world: string): ObjectNamespace {
  return { idFromName: (name) => real.idFromName(world + mark + name), get: (id, options) => real.get(id, options) }
}

const Runner = createWorkflowRunner({ workflows: sampleWorkflows, binding: "APART", indexShards: 2, log: silentLogger })

/** Runs the workflows of the client suite, in the world that its name begins with. */
export class ApartRunner extends Runner {
  constructor(state: { readonly id: { readonly name?: string } }, env: { readonly APART: ObjectNamespace }) {
    const [world = "", name = ""] = (state.id.name ?? "").split(mark)
    Object.defineProperty(state, "id", { value: { name }, configurable: true })
    super(state as never, { APART: worldOf(env.APART, world) } as never)
  }
}
