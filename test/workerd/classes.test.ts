import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { createHttpApp } from "perdure/http"
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

it("an instance can be asked for its status once it is created: by its class, by a client and over HTTP", async () => {
  const client = workflowClient(TROUBLE_RUNNER)
  const statuses = []
  for (let at = 0; at < 5; at++) {
    const handle = await OnboardingWorkflow.create(TROUBLE_RUNNER, { id: `begun-${at}`, payload: { name: "Ada" } })
    statuses.push(await handle.status())
    statuses.push(await (await client.start("sleeper", { id: `sleeper-${at}`, input: { ms: 60_000 } })).status())
    const body = JSON.stringify({ type: "onboarding", id: `http-${at}`, payload: { name: "Ada" } })
    const response = await createHttpApp(client).fetch(new Request("http://localhost/workflows", { method: "POST", body }))
    statuses.push(((await response.json()) as { readonly status: string }).status)
  }
  // The object continues the instance meanwhile, so the instance may already sleep or wait.
  expect(statuses).toHaveLength(15)
  for (const status of statuses) expect(["running", "sleeping", "waiting"]).toContain(status)
})

it("the status is asked for from the second time on", async () => {
  const handle = await workflowClient(TROUBLE_RUNNER).start("asked", { id: "asked-again" })
  const first = await handle.status()
  expect([first, await handle.status()]).toEqual(["waiting", "waiting"])
  await handle.terminate()
  expect(await handle.status()).toBe("terminated")
})

it("something else than these is told as a mistake", () => {
  expect(() => OnboardingWorkflow.create({ OTHER: TROUBLE_RUNNER }, { payload: { name: "Ada" } })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
  expect(() => OnboardingWorkflow.create({ WORKFLOW_RUNNER: "?" }, { payload: { name: "Ada" } })).toThrow(expect.objectContaining({ code: "BAD_OPTION" }))
})
