import { isCodeError } from "../../core/execution/workflow-code-error.ts"
import { durationMs, type Duration } from "../../core/time/duration.ts"
import { PerdureError } from "../../core/errors.ts"
import { isTerminal, type Status } from "../../core/journal/status.ts"
import type { HistoryOptions } from "../../client-api/client-api.ts"
import { answerFailure } from "../error-response.ts"
import { type Answer, type Call, ok, okValue, route, type Route } from "../route-definition.ts"
import { anything, boolean, type Fields, integer, list, object, oneOf, optional, string } from "../schema.ts"
import { duration, historyEntry, status, why } from "../response-schemas.ts"
import { eitherSignal } from "../combined-signal.ts"
import { paging } from "./instances.ts"

/** The result of an instance, its history, and why it does not move. */

const historyPage = object({ entries: list(historyEntry), cursor: optional(string()) })
const historyQuery = { run: optional(integer({ minimum: 1 })), order: optional(oneOf(["oldest", "newest"])), ...paging }

const failureCodes = { failed: "INSTANCE_FAILED", cancelled: "INSTANCE_CANCELLED", terminated: "INSTANCE_TERMINATED" } as const

type ResultCall = Pick<Call<string, Fields, unknown>, "client" | "settings" | "request" | "params" | "isHead">

/** The result of an ended instance is only read; but the instance may be restarted meanwhile. */
const readMs = 5_000

/**
 * Answers with the result, or waits for it: as long as the caller wants, and at most `resultWaitMax`. The result is that of `handle.result()`, so a
 * caller who may read the instance also sees a sensitive result.
 */
async function answerResult(
  { client, settings, request, isHead, params }: ResultCall,
  wait: Duration | undefined,
  rejectWhenStalled: boolean,
): Promise<Answer> {
  const handle = client.get(params["id"] ?? "")
  const waitMs = wait === undefined || isHead ? 0 : Math.min(durationMs(wait, "wait"), settings.resultWaitMsMax)
  const signal = eitherSignal(request.signal, settings.signal)
  const notYet = (now: Status): Answer => ({ status: 202, value: { id: handle.id, status: now } })
  for (let status = await handle.status(); ;) {
    const isToRead = isTerminal(status) || (rejectWhenStalled && status === "stalled")
    if (!isToRead && waitMs === 0) return notYet(status)
    try {
      return okValue(await handle.result(isToRead ? { timeout: readMs, rejectWhenStalled } : { timeout: waitMs, signal, rejectWhenStalled }))
    } catch (error) {
      const hasTimedOut = PerdureError.is(error, "RESULT_TIMEOUT") || (!isTerminal(status) && signal.aborted)
      const before = status
      status = await handle.status()
      // An error of the store must not be reported as the error of the instance.
      if (!hasTimedOut && isCodeError(error) && isTerminal(status) && status !== "completed") return answerFailure(409, failureCodes[status], error, { status })
      if (!hasTimedOut) throw error
      if (!isTerminal(status) || isTerminal(before)) return notYet(status)
    }
  }
}

export const outcomeRoutes: readonly Route[] = [
  route({
    method: "GET",
    path: "/workflows/:id/result",
    name: "getResult",
    summary: "The result of an instance; `wait` waits for it",
    tag: "outcomes",
    actions: ["read"],
    query: { wait: optional(duration), rejectWhenStalled: optional(boolean({ description: "answer 409 with STALLED as soon as the instance is stalled" })) },
    answers: {
      200: { description: "the result", schema: anything() },
      202: { description: "the instance has no result yet", schema: object({ id: string(), status }) },
    },
    errors: [400, 404, 406, 409],
    handle: (call) => answerResult(call, call.query.wait as Duration | undefined, call.query.rejectWhenStalled === true),
  }),
  route({
    method: "GET",
    path: "/workflows/:id/history",
    name: "getHistory",
    summary: "The entries of an instance's journal",
    tag: "outcomes",
    actions: ["read"],
    query: historyQuery,
    answers: { 200: { description: "a page of entries, oldest first by default", schema: historyPage } },
    errors: [400, 404],
    handle: async ({ client, params: { id }, query }) => ok(await client.get(id).history(query as HistoryOptions)),
  }),
  route({
    method: "GET",
    path: "/workflows/:id/why",
    name: "whyInstance",
    summary: "Why an instance does not move, in plain sentences",
    tag: "outcomes",
    actions: ["read"],
    answers: { 200: { description: "the reasons, the most telling first", schema: why } },
    errors: [404],
    handle: async ({ client, params: { id } }) => ok(await client.why(id)),
  }),
]
