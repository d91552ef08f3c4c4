import type { Changes } from "../../client-api/client-api.ts"
import { EncodedChanges } from "../encoded-changes.ts"
import { eventStream } from "../event-stream.ts"
import { errorAnswer } from "../error-response.ts"
import { encodeDocument } from "../plain-body.ts"
import { type Call, route, type Route } from "../route-definition.ts"
import { type Fields, optional, string } from "../schema.ts"
import { eitherSignal } from "../combined-signal.ts"
import { encodeRich, isRichType } from "../wire-format.ts"

/** The change stream as Server-Sent Events. The id of each is the cursor after it: whoever comes back with it misses nothing. */

const query = { cursor: optional(string({ description: "where to go on: the id of the last event seen; `latest`: with what happens from now on" })) }
const headers = { "Last-Event-ID": "the same as the query parameter cursor; browsers send it when they come back" }
const answers = { 200: { description: "an event for each change, whose data is the change", type: "text/event-stream" } } as const
const common = { method: "GET", tag: "streams", actions: ["read"], query, headers, answers } as const

/** What is in them does not depend on who asks: whoever may follow at all is told all of a change. */
const plainChanges = new EncodedChanges((change) => encodeDocument(change))
const richChanges = new EncodedChanges(encodeRich)

type StreamCall = Pick<Call<string, Fields, unknown>, "request" | "settings" | "isHead" | "disconnect"> & { readonly query: { readonly cursor?: string } }

async function stream(
  { request, settings, isHead, disconnect, query: { cursor: asked } }: StreamCall,
  changesFrom: (cursor?: string) => Changes,
): Promise<Response> {
  const responseHeaders = { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" }
  if (isHead) return new Response(null, { headers: responseHeaders })
  // A browser that comes back asks the same address again: what it has seen meanwhile counts.
  const cursor = request.headers.get("Last-Event-ID") ?? asked
  const body = await eventStream({
    changes: changesFrom(cursor)[Symbol.asyncIterator](),
    encoded: isRichType(request.headers.get("Accept")) ? richChanges : plainChanges,
    heartbeatMs: settings.heartbeatMs,
    signal: eitherSignal(request.signal, settings.signal),
    disconnect,
    onError: (error) => {
      const id = crypto.randomUUID()
      settings.log.error(`a stream failed (${id})`, { id, error })
      return errorAnswer(error, () => id).body
    },
  })
  return new Response(body, { headers: responseHeaders })
}

export const streamRoutes: readonly Route[] = [
  route({
    ...common,
    path: "/stream",
    name: "streamChanges",
    summary: "All that happens to all instances",
    errors: [400],
    handle: (call) => stream(call, (cursor) => call.client.changes(cursor)),
  }),
  route({
    ...common,
    path: "/workflows/:id/stream",
    name: "streamChangesOfInstance",
    summary: "All that happens to an instance",
    errors: [400, 404],
    handle: async (call) => {
      const handle = call.client.get(call.params.id)
      if (call.isHead) await handle.status()
      return stream(call, (cursor) => handle.changes(cursor))
    },
  }),
]
