// The acceptance test for every server of the two example workflows, over HTTP only.

import { setTimeout as delay } from "node:timers/promises"
import { expect } from "vitest"

export async function call(url: string, path: string, body?: unknown): Promise<[number, Record<string, unknown>]> {
  const response = await fetch(
    url + path,
    body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } },
  )
  return [response.status, (await response.json()) as Record<string, unknown>]
}

/** Polls until an instance has the status. Fails if that takes longer than `withinMs`. */
export async function becomes(url: string, path: string, status: string, withinMs: number): Promise<Record<string, unknown>> {
  for (const end = Date.now() + withinMs; ;) {
    const [, instance] = await call(url, path)
    if (instance["status"] === status) return instance
    if (Date.now() > end) throw new Error(`${path} is ${String(instance["status"])}, not ${status}, after ${withinMs} ms`)
    await delay(20)
  }
}

/** A workflow starts, sleeps, waits, is approved, completes, and is listed before the older instances. */
export async function acceptTest(url: string, { listedBefore = [] }: { readonly listedBefore?: readonly string[] } = {}): Promise<void> {
  expect(await call(url, "/")).toEqual([200, { status: "ok", workflows: ["test", "order"] }])
  const startedAt = Date.now()
  const [status, started] = await call(url, "/workflows", { type: "test", id: "test-1", payload: { name: "World" } })
  expect([status, started]).toMatchObject([201, { id: "test-1", type: "test" }])
  const sleeping = await becomes(url, "/workflows/test-1", "sleeping", 30_000)
  expect(sleeping).toMatchObject({ steps: [{ name: "greet", status: "completed", result: "Hello, World!" }, { status: "sleeping" }] })
  await becomes(url, "/workflows/test-1", "waiting", 30_000)
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(5_000)
  const waiting = call(url, "/workflows/test-1/result?wait=30s")
  expect(await call(url, "/workflows/test-1/events/approval", { approved: true })).toEqual([200, { id: "test-1", event: "approval", status: "delivered" }])
  const result = { message: "World was approved", greeting: "Hello, World!" }
  expect(await waiting).toEqual([200, result])
  expect(await becomes(url, "/workflows/test-1", "completed", 30_000)).toMatchObject({ result })
  const [, list] = await call(url, "/workflows?type=test")
  expect((list["instances"] as { id: string }[]).map(({ id }) => id)).toEqual(["test-1", ...listedBefore])
}
