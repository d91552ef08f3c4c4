// `?dialect=cloudflare` of the HTTP API. Every host runs these cases: SQLite, PostgreSQL and Durable Objects.

import { setTimeout as delay } from "node:timers/promises"
import { WorkflowEntrypoint } from "../src/dialects/cloudflare-workflows/workflow-entrypoint.ts"
import type { WorkflowEvent } from "../src/dialects/cloudflare-workflows/workflow-entrypoint.ts"
import type { WorkflowStep } from "../src/dialects/cloudflare-workflows/workflow-step.ts"

export class Parcel extends WorkflowEntrypoint<unknown, { fails?: boolean }> {
  async run({ payload }: WorkflowEvent<{ fails?: boolean }>, step: WorkflowStep): Promise<unknown> {
    const weighed = await step.do("weigh", async () => 7)
    if (payload.fails) throw new RangeError("too heavy")
    const { payload: signature } = await step.waitForEvent<string>("wait for a signature", { type: "signed" })
    return { weighed, signature }
  }
}

export class Letter extends Parcel {}

export const sources = { PARCEL: Parcel, LETTER: Letter }

export interface DialectHost {
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}

type Vitest = Pick<typeof import("vitest"), "afterAll" | "beforeAll" | "describe" | "expect" | "it">

export function describeDialectHttp(name: string, open: () => Promise<DialectHost>, { afterAll, beforeAll, describe, expect, it }: Vitest): void {
  describe(`?dialect=cloudflare of the HTTP API on ${name}`, () => {
    let host: DialectHost
    beforeAll(async () => {
      host = await open()
    })
    afterAll(() => host.close())

    /** The status of the response and its body. */
    async function ask(method: string, path: string, body?: unknown, dialect = "cloudflare"): Promise<readonly [number, unknown]> {
      const url = new URL(`http://localhost/workflows/${path}`)
      if (dialect !== "") url.searchParams.set("dialect", dialect)
      const response = await host.fetch(new Request(url, { method, ...(body === undefined ? undefined : { body: JSON.stringify(body) }) }))
      const text = await response.text()
      return [response.status, text === "" ? undefined : JSON.parse(text)]
    }

    async function becomes(id: string, status: string, workflow = "parcel"): Promise<unknown> {
      for (let tries = 0; tries < 400; tries++) {
        const [, instance] = await ask("GET", `${workflow}/instances/${id}`)
        if ((instance as { status: string }).status === status) return instance
        await delay(25)
      }
      throw new Error(`${id} is ${JSON.stringify(await ask("GET", `${workflow}/instances/${id}`))}`)
    }

    it("creates, shows and ends instances by their short ids and with the statuses of Cloudflare Workflows", async () => {
      expect(await ask("POST", "parcel/instances", { id: "a" })).toMatchObject([201, { id: "a", type: "parcel" }])
      expect(await becomes("a", "waiting")).toMatchObject({ id: "a", type: "parcel", output: null, steps: [{ name: "weigh" }, {}] })
      expect(await ask("POST", "parcel/instances/a/events", { type: "signed", payload: "Ada" })).toEqual([
        200,
        { id: "a", event: "signed", status: "delivered" },
      ])
      expect(await becomes("a", "complete")).toMatchObject({ output: { weighed: 7, signature: "Ada" } })
      expect(await ask("GET", "parcel/instances/a/history")).toMatchObject([200, { entries: [{ type: "run.started" }, {}, {}, {}, {}, {}, {}] }])
      expect(await ask("GET", "parcel/instances/a", undefined, "")).toMatchObject([404, { error: { code: "NOT_FOUND" } }])
      expect(await ask("GET", "parcel/instances/parcel:a", undefined, "")).toMatchObject([200, { id: "parcel:a", status: "completed" }])
      expect(await ask("DELETE", "parcel/instances/a")).toEqual([204, undefined])
      expect(await ask("GET", "parcel/instances/a")).toEqual([404, { error: { code: "instance.not_found", message: "instance.not_found" } }])
    })

    it("gives an id once for each workflow, and a random id where none is given", async () => {
      expect(await ask("POST", "parcel/instances", { id: "same" })).toMatchObject([201, {}])
      expect(await ask("POST", "letter/instances", { id: "same" })).toMatchObject([201, { id: "same", type: "letter" }])
      expect(await ask("POST", "parcel/instances", { id: "same" })).toEqual([
        409,
        { error: { code: "instance.already_exists", message: '(instance.already_exists) Workflow instance with id "same" already exists' } },
      ])
      expect(await ask("POST", "parcel/instances", { id: "same", ifExists: "return" })).toMatchObject([200, { id: "same" }])
      expect(await ask("POST", "parcel/instances", { id: "not/this" })).toEqual([
        400,
        { error: { code: "instance.invalid_id", message: "Workflow instance has invalid id" } },
      ])
      const [, { id }] = (await ask("POST", "letter/instances")) as [number, { id: string }]
      expect(id).toMatch(/^[0-9a-f-]{36}$/)
      expect(await ask("GET", `letter/instances/${id}`)).toMatchObject([200, { id }])
    })

    it("controls an instance: pause and resume are silent where they do nothing, terminate and restart say why not", async () => {
      await ask("POST", "parcel/instances", { id: "c" })
      await becomes("c", "waiting")
      expect(await ask("POST", "parcel/instances/c/pause")).toMatchObject([200, { id: "c" }])
      await becomes("c", "paused")
      expect(await ask("POST", "parcel/instances/c/resume")).toMatchObject([200, { id: "c" }])
      await becomes("c", "waiting")
      expect(await ask("POST", "parcel/instances/c/restart", { from: { name: "unpack" } })).toEqual([
        400,
        { error: { code: "instance.cannot_restart", message: '(instance.cannot_restart) Step "unpack" not found in execution history' } },
      ])
      expect(await ask("POST", "parcel/instances/c/restart", { from: { name: "wait for a signature", type: "waitForEvent" } })).toMatchObject([
        200,
        { id: "c" },
      ])
      await becomes("c", "waiting")
      expect(await ask("POST", "parcel/instances/c/terminate", {})).toMatchObject([200, { id: "c" }])
      await becomes("c", "terminated")
      expect(await ask("POST", "parcel/instances/c/terminate")).toMatchObject([409, { error: { code: "instance.cannot_terminate" } }])
      expect(await ask("POST", "parcel/instances/c/pause")).toMatchObject([200, { id: "c", status: "terminated" }])
      expect(await ask("POST", "parcel/instances/c/restart")).toMatchObject([200, { id: "c" }])
      await becomes("c", "waiting")
      expect(await ask("POST", "parcel/instances/c/cancel", { reason: "lost" })).toMatchObject([200, { id: "c" }])
      await becomes("c", "terminated")
      for (const control of ["pause", "resume", "cancel", "terminate", "restart"])
        expect(await ask("POST", `parcel/instances/nobody/${control}`)).toMatchObject([404, { error: { code: "instance.not_found" } }])
    })

    it("deletes an instance that runs", async () => {
      await ask("POST", "parcel/instances", { id: "d" })
      await becomes("d", "waiting")
      expect([202, 204]).toContain((await ask("DELETE", "parcel/instances/d"))[0])
      expect(await ask("GET", "parcel/instances/d")).toMatchObject([404, {}])
    })

    it("forks an instance under a short id", async () => {
      await ask("POST", "parcel/instances", { id: "f" })
      await becomes("f", "waiting")
      expect(await ask("POST", "parcel/instances/f/fork", { id: "f-2" })).toMatchObject([200, { id: "f-2" }])
      expect(await ask("POST", "parcel/instances/f/fork", { id: "f" })).toMatchObject([409, { error: { code: "instance.already_exists" } }])
      await becomes("f-2", "waiting")
    })

    it("creates a batch, with the codes of Cloudflare Workflows for what could not be created", async () => {
      await ask("POST", "letter/instances", { id: "b-0" })
      expect(await ask("POST", "letter/instances/batch", { instances: [{ id: "b-0" }, { id: "b-1" }, { id: "b-1" }] })).toEqual([
        200,
        {
          instances: [
            { id: "b-0", created: false, error: { code: 10405, message: "workflows.api.error.instance.already_exists" } },
            { id: "b-1", created: true },
            { id: "b-1", created: false, error: { code: 10415, message: "workflows.api.error.instance.duplicate_in_batch" } },
          ],
        },
      ])
      expect(await ask("POST", "letter/instances/batch", { instances: [{ id: "a b" }] })).toMatchObject([400, { error: { code: "instance.invalid_id" } }])
      const [, { instances }] = (await ask("POST", "missing/instances/batch", { instances: [{ id: "x" }] })) as [number, { instances: unknown[] }]
      expect(instances).toMatchObject([{ id: "x", created: false, error: { code: 10001, message: expect.stringContaining("missing") } }])
    })

    it("lists the instances of a workflow by the statuses of Cloudflare Workflows", async () => {
      await ask("POST", "letter/instances", { id: "l-1", payload: { fails: true } })
      await ask("POST", "letter/instances", { id: "l-2" })
      expect(await becomes("l-1", "errored", "letter")).toMatchObject({ error: { name: "RangeError", message: "too heavy" } })
      await becomes("l-2", "waiting", "letter")
      const listed = async (query: string, expected: readonly object[]) => {
        let found: unknown
        // The index of Durable Objects follows the instances.
        for (let tries = 0; tries < 100; tries++) {
          const [status, page] = await ask("GET", `letter/instances?idPrefix=l-&order=oldest${query}`)
          expect(status).toBe(200)
          found = (page as { instances: readonly { id: string; status: string }[] }).instances.map(({ id, status: word }) => ({ id, status: word }))
          if (JSON.stringify(found) === JSON.stringify(expected)) return
          await delay(25)
        }
        expect(found).toEqual(expected)
      }
      const [first, second] = [
        { id: "l-1", status: "errored" },
        { id: "l-2", status: "waiting" },
      ]
      await listed("", [first, second])
      await listed("&status=errored", [first])
      await listed("&status=waiting,complete", [second])
      await listed("&status=terminated", [])
      expect(await ask("GET", "letter/instances?status=completed")).toMatchObject([400, { error: { code: "BAD_REQUEST" } }])
    })

    it("refuses a dialect that it does not know, and one where a route has none", async () => {
      for (const [method, path] of [
        ["GET", "parcel/instances"],
        ["POST", "parcel/instances"],
        ["GET", "parcel/instances/same"],
        ["POST", "parcel/instances/same/pause"],
      ] as const)
        expect(await ask(method, path, undefined, "temporal")).toMatchObject([
          400,
          { error: { code: "BAD_REQUEST", message: expect.stringContaining('dialect must be "cloudflare"') } },
        ])
      expect(await ask("GET", "parcel:same")).toMatchObject([400, { error: { code: "BAD_REQUEST" } }])
    })
  })
}
