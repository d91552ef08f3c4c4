import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { expect, it } from "vitest"
import { marksOf, OnboardingWorkflow } from "./trouble-runner.ts"

const { TROUBLE_RUNNER } = env as { readonly TROUBLE_RUNNER: DurableObjectNamespace }

it.each([
  ["the environment", "of-env", { WORKFLOW_RUNNER: TROUBLE_RUNNER }],
  ["the binding", "of-binding", TROUBLE_RUNNER],
  ["a client", "of-client", workflowClient(TROUBLE_RUNNER)],
])("a class is started, told and asked through %s", async (_, id, target) => {
  const handle = await OnboardingWorkflow.create(target, { id, payload: { name: "Ada" } })
  await OnboardingWorkflow.pause(target, id)
  await OnboardingWorkflow.resume(target, id)
  await OnboardingWorkflow.sendEvent(target, id, "approval", { approved: true })
  expect(await handle.result()).toBe("Hello, Ada!")
  expect(await OnboardingWorkflow.status(target, id)).toBe("completed")
  expect(marksOf(id, "greet")).toHaveLength(2)
  expect(await OnboardingWorkflow.terminate(target, id)).toMatchObject({ accepted: false })
})

it("something else than these is told as a mistake", () => {
  expect(() => OnboardingWorkflow.create({ OTHER: TROUBLE_RUNNER }, { payload: { name: "Ada" } })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  expect(() => OnboardingWorkflow.create({ WORKFLOW_RUNNER: "?" }, { payload: { name: "Ada" } })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
})
