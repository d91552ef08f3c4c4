// Programs with the types of Cloudflare compile with ours, and the other way round.

import { WorkflowEntrypoint as TheirEntrypoint, type WorkflowEvent as TheirEvent, type WorkflowStep as TheirStep } from "cloudflare:workers"
import { NonRetryableError as TheirNonRetryableError } from "cloudflare:workflows"
import {
  type InstanceStatus as OurStatus,
  NonRetryableError as OurNonRetryableError,
  WorkflowEntrypoint as OurEntrypoint,
  type WorkflowBinding,
  type WorkflowBindings,
  type WorkflowEvent as OurEvent,
  type WorkflowInstanceEvent as OurInstanceEvent,
  type WorkflowSources,
  type WorkflowStep as OurStep,
} from "perdure/cloudflare-workflows"

interface Params {
  cart: string
}

declare function take<T>(value: T): void

// A class of theirs is a source of ours, and its binding has the type of its payload.
class Theirs extends TheirEntrypoint<{ SHOP: string }, Params> {
  override async run(event: TheirEvent<Params>, step: TheirStep) {
    return step.do("charge", async ({ attempt }) => `${this.env.SHOP} ${event.payload.cart} ${attempt}`)
  }
}
class Ours extends OurEntrypoint<{ SHOP: string }, Params> {
  async run(event: OurEvent<Params>, step: OurStep) {
    return step.do("charge", async ({ attempt }) => `${this.env.SHOP} ${event.payload.cart} ${attempt}`)
  }
}
const sources = { THEIRS: Theirs, OURS: Ours, SPEC: { class: Theirs, name: "spec", limits: { steps: 5 }, concurrency: 2, schedules: ["0 * * * *"] } }
take<WorkflowSources>(sources)
declare const bindings: WorkflowBindings<typeof sources>
take<WorkflowBinding<Params>>(bindings.THEIRS)
take<WorkflowBinding<Params>>(bindings.OURS)
take<WorkflowBinding<Params>>(bindings.SPEC)
void bindings.OURS.create({ params: { cart: "7" } })
// @ts-expect-error -- the payload has another type
void bindings.OURS.create({ params: { cart: 7 } })

// Our binding stands where code wants theirs, and its instance where code wants theirs.
declare const ourBinding: WorkflowBinding<Params>
take<Workflow<Params>>(ourBinding)
declare const theirBinding: Workflow<Params>
take<Pick<WorkflowBinding<Params>, "get" | "create">["create"]>(theirBinding.create.bind(theirBinding) as never)
take<Promise<WorkflowInstance>>(ourBinding.create())

// Events and steps are each other's.
declare const ourEvent: OurEvent<Params>
declare const theirEvent: TheirEvent<Params>
take<TheirEvent<Params>>(ourEvent)
take<OurEvent<Params>>(theirEvent)
declare const ourStep: OurStep
declare const theirStep: TheirStep
take<TheirStep>(ourStep)
// @ts-expect-error -- the compiler does not see that the payload of their `waitForEvent` is ours: theirs may only be what RPC can carry
take<OurStep>(theirStep)
take<Omit<OurStep, "waitForEvent">>(theirStep)
declare const ourInstanceEvent: OurInstanceEvent
declare const theirInstanceEvent: WorkflowInstanceEvent
take<WorkflowInstanceEvent>(ourInstanceEvent)
take<OurInstanceEvent["type"]>(theirInstanceEvent.type)
declare const ourStatus: OurStatus
declare const theirStatus: InstanceStatus
take<InstanceStatus>(ourStatus)
take<OurStatus>(theirStatus)
take<Error>(new OurNonRetryableError("no", "Named"))
take<OurNonRetryableError>(new TheirNonRetryableError("no"))

// The three overloads with a config tell the callback what its context has.
async function overloads(step: OurStep): Promise<void> {
  await step.do("static", { retries: { limit: 1, delay: "5 seconds" } }, async ({ config }) => take<string | number | undefined>(config.retries?.delay))
  await step.do("function", { retries: { limit: 1, delay: async ({ ctx }) => ctx.attempt * 10 } }, async ({ config }) => {
    // @ts-expect-error -- a delay function is not part of the context
    take(config.retries?.delay)
  })
  await step.do("timeout", { timeout: "1 minute", sensitive: "output" }, async () => 1, {
    rollback: async ({ output }) => take<number | undefined>(output),
  })
  take<number>(await step.do<number>("typed", { retries: { limit: 2, delay: 5 } }, async () => 1))
  // @ts-expect-error -- no such unit
  await step.sleep("nap", "5 moons")
  const { payload, timestamp } = await step.waitForEvent<{ ok: boolean }>("approval", { type: "approval", timeout: "2 days" })
  take<boolean>(payload.ok)
  take<Date>(timestamp)
}
take(overloads)
