// Thousands of requests, most of them valid and the others wrong in one way. No response is a server error, none is missing, and each has
// the form of the OpenAPI document.

import fc from "fast-check"
import { createHttpApp } from "perdure/http"
import { createTestEngine } from "perdure/testing"
import { expect, it } from "vitest"
import type { OpenApiDocument } from "../../src/http/openapi.ts"
import { FuzzedApi, Tally } from "../http/fuzzed-api.ts"
import { operationsOf, requestsFor } from "../http/request-generator.ts"

const isLong = process.env["LONG"] === "1"
const requests = isLong ? 20_000 : 3_000
/** The short form uses a fixed seed, because so few random requests might not reach all asserted cases. */
const seed = isLong ? undefined : { seed: 20_261_116 }
const together = 40

it(`${requests} requests are answered, each in the right form, and none with a fault of the server`, async () => {
  await using engine = await createTestEngine({ workflows: [] })
  const document = (await (await createHttpApp(engine.current).request("/openapi.json")).json()) as OpenApiDocument
  const operations = operationsOf(document)
  const tally = new Tally()
  await fc.assert(
    fc.asyncProperty(fc.array(requestsFor(operations), { minLength: 1, maxLength: 2 * together, size: "max" }), async (series) => {
      const api = await FuzzedApi.open()
      try {
        for (const request of series) await api.send(request, tally)
      } finally {
        await api.close()
      }
    }),
    { numRuns: Math.ceil((1.2 * requests) / together), ...seed },
  )
  expect(tally.requests).toBeGreaterThanOrEqual(requests)
  expect(tally.succeeded / tally.requests).toBeGreaterThan(0.4)
  const oneSided = operations.filter(({ name }) => tally.outcomes.get(name)?.size !== 2).map(({ name }) => [name, ...(tally.outcomes.get(name) ?? [])])
  expect(oneSided).toEqual([])
})
