import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers"
import type { WorkflowBinding } from "perdure/cloudflare-workflows"
import { note } from "../notebook.ts"
import { becomes, ended, errorText, happens, outcomeOf, pause, report, until } from "../observation.ts"
import { type Feature, program } from "../program.ts"

class Doubling extends WorkflowEntrypoint<unknown, { n: number }> {
  async run({ payload }: WorkflowEvent<{ n: number }>, step: WorkflowStep) {
    return step.do("double", async () => payload.n * 2)
  }
}
class ParentInAStep extends WorkflowEntrypoint<{ Doubling: WorkflowBinding }> {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("start a child", async () => (await this.env.Doubling.create({ id: "child-1", params: { n: 21 } })).id)
  }
}

class Greeted extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const { payload } = await step.waitForEvent<{ word: string }>("word", { type: "word" })
    return payload.word
  }
}
class ParentThatSends extends WorkflowEntrypoint<{ Greeted: WorkflowBinding }> {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("start a child", async () => void (await this.env.Greeted.create({ id: "greeted" })))
    await step.do("send", async () => (await this.env.Greeted.get("greeted")).sendEvent({ type: "word", payload: { word: "hello" } }))
    return step.do("wait for it", async () => {
      const child = await this.env.Greeted.get("greeted")
      return (await ended(child))["output"]
    })
  }
}

class Sibling extends WorkflowEntrypoint {
  async run() {
    return "sibling"
  }
}
class ParentOfTwins extends WorkflowEntrypoint<{ Sibling: WorkflowBinding }> {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const create = () => this.env.Sibling.create({ id: "twin" }).then(({ id }) => id)
    const first = await step.do("first", create)
    const second = await step.do("second", { retries: { limit: 0, delay: 1 } }, create).catch(errorText)
    return [first, second]
  }
}

class OutlivingChild extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.waitForEvent("go", { type: "go" })
    return "outlived"
  }
}
class ParentThatEnds extends WorkflowEntrypoint<{ OutlivingChild: WorkflowBinding }> {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    await step.do("start a child", async () => void (await this.env.OutlivingChild.create({ id: "outliving" })))
    throw new Error("the parent fails")
  }
}

class OutsideOfSteps extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    return step.do("work", async () => "worked")
  }
}
class ParentOutsideOfSteps extends WorkflowEntrypoint<{ OutsideOfSteps: WorkflowBinding }> {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const child = await this.env.OutsideOfSteps.create({ id: "outside" })
    note("ParentOutsideOfSteps", child.id)
    for (let tries = 0; tries < 100; tries++) {
      const { status, output } = await child.status()
      if (status === "complete") return [await step.do("after", async () => "after"), output]
      await step.sleep("a moment", 20)
    }
    return "never complete"
  }
}

class SeenChild extends WorkflowEntrypoint {
  async run() {
    return "seen"
  }
}
class ParentWithoutSteps extends WorkflowEntrypoint<{ SeenChild: WorkflowBinding }> {
  async run() {
    const child = await this.env.SeenChild.create({ id: "seen" })
    return (await this.env.SeenChild.get(child.id)).id
  }
}

class Exported extends WorkflowEntrypoint<unknown, { n: number }> {
  async run({ payload, workflowName }: WorkflowEvent<{ n: number }>) {
    return [workflowName, payload.n]
  }
}
class ParentOfAnExport extends WorkflowEntrypoint {
  async run(_: WorkflowEvent<unknown>, step: WorkflowStep) {
    const { Exported: child } = this.ctx.exports as unknown as { Exported: WorkflowBinding }
    return step.do("start a child", async () => {
      const { id } = await child.create({ id: "exported", params: { n: 7 } })
      const again = await outcomeOf(() => child.create({ id: "exported" }))
      const unknown = await outcomeOf(() => child.get("not-there"))
      return { id, again, unknown }
    })
  }
}

class BackgroundWork extends WorkflowEntrypoint {
  async run() {
    this.ctx.waitUntil(pause(50).then(() => note("BackgroundWork", "done later")))
    return "done first"
  }
}

export const children: Feature = {
  title: "Children and the context",
  programs: [
    program("a step creates a child", { ParentInAStep, Doubling }, async ({ start, bindings: { Doubling: child } }) => {
      const parent = await report(await start())
      return { parent, child: await report(await (child as WorkflowBinding).get("child-1")) }
    }),
    program("a parent sends an event to its child", { ParentThatSends, Greeted }),
    program("a child whose id is in use", { ParentOfTwins, Sibling }),
    program("a child outlives its parent", { ParentThatEnds, OutlivingChild }, async ({ start, bindings: { OutlivingChild: binding } }) => {
      const parent = await report(await start())
      const child = await (binding as WorkflowBinding).get("outliving")
      await happens(child, "wait_started")
      const between = await becomes(child, "running")
      await child.sendEvent({ type: "go", payload: null })
      return { parent, between, child: await ended(child) }
    }),
    program("workflow code creates a child outside of its steps", { ParentOutsideOfSteps, OutsideOfSteps }, async ({ start }) => ({
      end: await ended(await start()),
    })),
    program("calls of bindings outside of steps in the events", { ParentWithoutSteps, SeenChild }, async ({ start }) => {
      const { end, events } = await report(await start())
      return { end, steps: (events as string[]).flatMap((line) => /^step_\w+ \S+/.exec(line)?.[0] ?? []) }
    }),
    program("ctx.exports has the bindings by the names of the classes", { ParentOfAnExport, Exported }, async ({ start, bindings: { Exported: child } }) => ({
      parent: await ended(await start()),
      child: await ended(await (child as WorkflowBinding).get("exported")),
    })),
    program("waitUntil lets work go on after the end", { BackgroundWork }, async ({ start, notes }) => {
      const shown = await report(await start())
      await until(() => notes().length > 0)
      return shown
    }),
  ],
}
