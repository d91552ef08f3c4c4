// Ten thousand real instances, each in an object of its own, through the index.

import { evictDurableObject } from "cloudflare:test"
import { type DurableObjectNamespace, env } from "cloudflare:workers"
import { workflowClient } from "perdure/cloudflare"
import { expect, it } from "vitest"

const { SHARD_RUNNER } = env as { readonly SHARD_RUNNER: DurableObjectNamespace }
const client = workflowClient(SHARD_RUNNER)
const count = 10_000
const together = 250

async function heardOf(completed: number): Promise<void> {
  for (let tries = 0; tries < 600 && (await client.count({}, "status"))["completed"] !== completed; tries++)
    await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await client.count({}, "status")).toEqual({ completed })
}

it("lists 10,000 instances of 8 shards in order through one cursor", { timeout: 1_500_000 }, async () => {
  for (let at = 0; at < count; at += together) {
    const ids = Array.from({ length: together }, (_, next) => `crowd-${at + next}`)
    await Promise.all(ids.map((id) => client.start("quick", { id, input: at })))
    await heardOf(at + together)
    // An object keeps its database open while it is in memory, and so many open files are not allowed. Some objects have already left memory.
    await Promise.all(ids.map((id) => evictDurableObject(SHARD_RUNNER.get(SHARD_RUNNER.idFromName(id))).catch(() => undefined)))
  }
  const listed = async (order: "oldest" | "newest") => {
    const places: [number, string][] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await client.list({ limit: 500, order, ...(cursor === undefined ? {} : { cursor }) })
      places.push(...page.instances.map(({ createdAt, id }): [number, string] => [createdAt, id]))
      cursor = page.cursor
    }
    return places
  }
  const oldest = await listed("oldest")
  expect(new Set(oldest.map(([, id]) => id)).size).toBe(count)
  expect(oldest).toEqual(oldest.toSorted(([a, idA], [b, idB]) => a - b || (idA < idB ? -1 : 1)))
  expect(await listed("newest")).toEqual(oldest.toReversed())
})
