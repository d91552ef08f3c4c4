// The introspection of perdure/testing is usable where that of cloudflare:test is expected, and the other way round.

import type {
  introspectWorkflow as theirIntrospectWorkflow,
  introspectWorkflowInstance as theirIntrospectWorkflowInstance,
  WorkflowInstanceIntrospector as TheirInstanceIntrospector,
  WorkflowIntrospector as TheirIntrospector,
} from "cloudflare:test"
import {
  createWorkflowsTestEngine,
  introspectWorkflow,
  introspectWorkflowInstance,
  type WorkflowInstanceIntrospector as OurInstanceIntrospector,
  type WorkflowInstanceModifier as OurModifier,
  type WorkflowIntrospector as OurIntrospector,
} from "perdure/testing"
import { WorkflowEntrypoint } from "perdure/cloudflare-workflows"

declare function take<T>(value: T): void
declare const ours: OurInstanceIntrospector
declare const theirs: TheirInstanceIntrospector
declare const ourWorkflow: OurIntrospector
declare const theirWorkflow: TheirIntrospector
declare const ourModifier: OurModifier

take<TheirInstanceIntrospector>(ours)
take<OurInstanceIntrospector>(theirs)
take<TheirIntrospector>(ourWorkflow)
take<OurIntrospector>(theirWorkflow)
take<Parameters<Parameters<TheirInstanceIntrospector["modify"]>[0]>[0]>(ourModifier)

// The functions take a binding of the types of Cloudflare, too.
take<typeof theirIntrospectWorkflow>(introspectWorkflow)
take<typeof theirIntrospectWorkflowInstance>(introspectWorkflowInstance)

class Checkout extends WorkflowEntrypoint<unknown, { cart: string }> {
  async run(): Promise<string> {
    return "done"
  }
}

export async function test(): Promise<void> {
  await using engine = await createWorkflowsTestEngine({ workflows: { CHECKOUT: Checkout } })
  await using instance: TheirInstanceIntrospector = await introspectWorkflowInstance(engine.env.CHECKOUT, "c-1")
  await instance.modify(async (m) => {
    await m.disableSleeps([{ name: "cool off", index: 2 }])
    await m.mockStepError({ name: "charge" }, new Error("declined"), 2)
    // @ts-expect-error -- a step is an object with a name
    await m.forceStepTimeout("charge")
  })
  // @ts-expect-error -- this is no status
  await instance.waitForStatus("completed")
  await engine.env.CHECKOUT.create({ id: "c-1", params: { cart: "lamp" } })
}
