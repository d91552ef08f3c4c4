// Every kind of request to the HTTP API, for tests that examine the responses.

import { createHttpApp } from "perdure/http"
import type { Client, Logger } from "perdure"
import { expect } from "vitest"

const requests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ["GET", "/"],
  ["GET", "/readyz"],
  ["GET", "/workflows"],
  ["GET", "/workflows?type=flow&idPrefix=%00"],
  ["GET", "/instances?idPrefix=%00"],
  ["GET", "/workflows/counts"],
  ["POST", "/workflows", { type: "flow", payload: 1 }],
  ["POST", "/workflows", { type: "flow", payload: 1, id: "over", ifExists: "return" }],
  [
    "POST",
    "/workflows/batch",
    {
      instances: [
        { type: "flow", payload: 1 },
        { type: "flow", payload: 2 },
      ],
    },
  ],
  ...["", "/why", "/history", "/result", "/result?wait=1s"].map((what) => ["GET", `/workflows/over${what}`] as const),
  ...["pause", "resume", "cancel", "terminate", "restart"].map((what) => ["POST", `/workflows/waits/${what}`, {}] as const),
  ["POST", "/workflows/over/fork", { id: "other" }],
  ["POST", "/workflows/waits/events/word", 1],
  ["PUT", "/workflows/waits/events/word", { payload: 1, start: { type: "flow", payload: 1 } }],
  ["POST", "/workflows/waits/queries/words", []],
  ["POST", "/workflows/waits/updates/add", [1]],
  ["GET", "/schedules"],
  ["GET", "/schedules/daily"],
  ["POST", "/schedules", { id: "daily", type: "flow", every: "1h", payload: 1 }],
  ["POST", "/schedules/daily/trigger", {}],
  ["GET", "/limits/flow"],
  ["PUT", "/limits/flow", { concurrency: 1 }],
  ["GET", "/stream"],
  ["GET", "/workflows/over/stream"],
  ["DELETE", "/workflows/over"],
]

export interface SeenAnswer {
  readonly request: string
  readonly status: number
  readonly text: string
}

export interface SeenAnswers {
  readonly answers: readonly SeenAnswer[]
  readonly log: readonly { readonly id: unknown; readonly error: unknown }[]
}

/** Sends all requests, and returns the responses and the log. Streams are read for a moment. */
export async function askForAll(client: Client): Promise<SeenAnswers> {
  const log: { id: unknown; error: unknown }[] = []
  const logger: Pick<Logger, "error"> = { error: (_, data) => void log.push({ id: data?.["id"], error: data?.["error"] }) }
  const app = createHttpApp(client, { log: logger })
  const answers: SeenAnswer[] = []
  for (const [method, path, body] of requests) {
    const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }) }
    const response = await Promise.race([app.request(path, init), after(patienceMs)])
    // Some calls wait until their store is available again.
    if (response === undefined) continue
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
    answers.push({ request: `${method} ${path}`, status: response.status, text: isStream ? await beginningOf(response) : await response.text() })
  }
  return { answers, log }
}

const patienceMs = 1_500

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms))
}

async function beginningOf({ body }: Response): Promise<string> {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ""
  const over = after(300)
  for (;;) {
    const part = await Promise.race([reader.read(), over])
    if (part?.value === undefined) break
    text += decoder.decode(part.value, { stream: true })
  }
  await reader.cancel()
  return text
}

/** Expects that no response contains a secret. A server error has a code, a plain sentence, and an id under which the log has the error. */
export function expectNoSecrets({ answers, log }: SeenAnswers, secrets: RegExp): void {
  expect(answers.filter(({ text }) => secrets.test(text))).toEqual([])
  const ids = new Set(log.map(({ id }) => id))
  const failures = answers.filter(({ status }) => status >= 500).map(({ request, text }) => ({ request, ...(JSON.parse(text) as Failure) }))
  expect(failures.filter(({ error }) => !/^[A-Z_]+$/.test(error.code) || !/^[a-z][^:"/]+$/.test(error.message))).toEqual([])
  expect(failures.filter(({ error }) => Object.keys(error.details).some((key) => key !== "id" && key !== "isUnknown"))).toEqual([])
  expect(failures.filter(({ error }) => !ids.has(error.details["id"]))).toEqual([])
}

interface Failure {
  readonly error: { readonly code: string; readonly message: string; readonly details: Readonly<Record<string, unknown>> }
}
