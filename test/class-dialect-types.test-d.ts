// What compiles and what does not. Checked by `npm run typecheck`; nothing here runs.

import { BaseWorkflow, type Client, eventSchema, type Handle, type HookEvent, Perdure, type Status, type Step } from "perdure"
import * as z from "zod"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function exactly<Expected>(): <Actual>(value: Actual, ...proof: Equal<Actual, Expected> extends true ? [] : ["is not the expected type"]) => void

declare const engine: Client

interface Payload {
  readonly name: string
}
interface Events {
  readonly approval: { readonly approved: boolean }
  readonly ping: undefined
}

class Onboarding extends BaseWorkflow<Payload, number, Events> {
  static readonly type = "onboarding" as const
  static readonly events = { approval: eventSchema<{ approved: boolean }>(), ping: eventSchema() }
  // As people write it: without `as const`.
  static defaults = { retries: { limit: 2, delay: "500ms", backoff: "exponential" as const }, timeout: "1m" }

  async run(step: Step<Events>, payload: Payload): Promise<number> {
    exactly<string>()(payload.name)
    const approval = await step.waitForEvent("approval")
    exactly<Events["approval"]>()(approval)
    exactly<Events["approval"] | null>()(await step.waitForEvent("approval", { timeout: "1m", default: null }))
    // @ts-expect-error there is no such event
    await step.waitForEvent("approved")
    exactly<number>()(await step.do("count", () => 1))
    exactly<number>()(await step.do("count", { retries: { limit: 3 } }, async () => 1))
    // @ts-expect-error a rollback is given what the step gives
    await step.do("count", () => 1, { rollback: (result: string) => result })
    // @ts-expect-error there is no such option
    await step.do("count", { retry: { limit: 3 } }, () => 1)
    // @ts-expect-error a duration has a unit that we know
    await step.sleep("nap", "5 fortnights")
    return approval.approved ? 1 : 0
  }
}

exactly<Promise<Handle<number, Events>>>()(Onboarding.create(engine, { id: "a", payload: { name: "Ada" } }))
exactly<Promise<Status>>()(Onboarding.status(engine, "a"))
void Onboarding.sendEvent(engine, "a", "approval", { approved: true })
void Onboarding.sendEvent(engine, "a", "approval", { approved: true }, { eventId: "1" })
void Onboarding.sendEvent(engine, "a", "ping")

// @ts-expect-error the payload is another
void Onboarding.create(engine, { payload: { name: 1 } })
// @ts-expect-error the payload is missing
void Onboarding.create(engine, { id: "a" })
// @ts-expect-error the payload is missing
void Onboarding.create(engine)
// @ts-expect-error it is called payload
void Onboarding.create(engine, { payload: { name: "Ada" }, input: 1 })
// @ts-expect-error there is no such event
void Onboarding.sendEvent(engine, "a", "approve", { approved: true })
// @ts-expect-error the payload of the event is another
void Onboarding.sendEvent(engine, "a", "approval", { approved: "yes" })
// @ts-expect-error the event has a payload
void Onboarding.sendEvent(engine, "a", "approval")

class Plain extends BaseWorkflow {
  static readonly type = "plain"
  async run(): Promise<void> {}
}
void Plain.create(engine)
void Plain.create(engine, { id: "p" })

class Checked extends BaseWorkflow<void, void, Events> {
  static readonly type = "checked"
  static readonly events = { approval: z.object({ approved: z.boolean() }), ping: z.undefined() }
  async run(): Promise<void> {}
}
void Checked.create(engine)

class Optioned extends BaseWorkflow<{ readonly n: number }, void> {
  static readonly type = "optioned"
  static readonly input = z.object({ n: z.string().transform(Number) })
  static version = "2"
  static timeout = "1h"
  static taskQueue = "gpu"
  static duplicateSteps = "error"
  static sensitive = { input: true, events: ["secret"] }
  static concurrency = [3, { limit: 1, key: ({ n }: { readonly n: number }) => String(n), hold: true }]
  static rateLimit = { limit: 5, per: "1m", key: ({ n }: { readonly n: number }) => String(n) }
  static debounce = { quiet: "10s", max: "1m" }
  static singleton = true
  static priority({ n }: { readonly n: number }): number {
    return n
  }
  static onCompleted({ id, status }: HookEvent): void {
    exactly<string>()(id)
    exactly<"completed" | "failed" | "cancelled" | "stalled">()(status)
  }
  async run(_step: Step, { n }: { readonly n: number }): Promise<void> {
    exactly<number>()(n)
  }
}
// `create` takes what the schema takes, `run` what the schema gives.
void Optioned.create(engine, { payload: { n: "1" } })
void engine.start(Optioned.definition(), { input: { n: "1" } })
void Optioned.status(engine, "a")
void Perdure.open({ workflows: [Optioned] })
// @ts-expect-error the schema takes text
void Optioned.create(engine, { payload: { n: 1 } })
// @ts-expect-error the payload is missing
void Optioned.create(engine)

class OtherInput extends BaseWorkflow<{ readonly n: number }, void> {
  static readonly type = "other-input"
  static readonly input = z.object({ n: z.string() })
  async run(): Promise<void> {}
}
// @ts-expect-error its schema does not give the payload that its code takes
void OtherInput.create(engine, { payload: { n: "1" } })

class OtherKey extends BaseWorkflow<{ readonly n: number }, void> {
  static readonly type = "other-key"
  static readonly singleton = { key: 5 }
  async run(): Promise<void> {}
}
// @ts-expect-error a key is a function of the payload
void OtherKey.create(engine, { payload: { n: 1 } })

class OtherHook extends BaseWorkflow {
  static readonly type = "other-hook"
  static onFailed(_error: Error): void {}
  async run(): Promise<void> {}
}
// @ts-expect-error a hook is told of an instance
void OtherHook.create(engine)

class Nameless extends BaseWorkflow {
  async run(): Promise<void> {}
}
// @ts-expect-error it has no type
void Nameless.create(engine)

class OtherEvents extends BaseWorkflow<void, void, Events> {
  static readonly type = "other"
  static readonly events = { approval: eventSchema<{ approved: string }>(), ping: eventSchema() }
  async run(): Promise<void> {}
}
// @ts-expect-error its schemas are not those of the events that its code waits for
void OtherEvents.create(engine)

void Perdure.open({ workflows: [Onboarding, Plain, Onboarding.definition()] })
// @ts-expect-error an object of the class is no workflow
void Perdure.open({ workflows: [new Plain()] })

const definition = Onboarding.definition()
void engine.start(definition, { input: { name: "Ada" } })
// @ts-expect-error the input is the payload
void engine.start(definition, { input: { name: 1 } })
