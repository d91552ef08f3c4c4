import type { Changes } from "../../client-api/client-api.ts"
import { EncodedChanges } from "../encoded-changes.ts"
import { eventStream } from "../event-stream.ts"
import { errorAnswer } from "../error-response.ts"
import { encodeDocument } from "../plain-body.ts"
import { type Call, route, type Route } from "../route-definition.ts"
import { type Fields, optional, string } from "../schema.ts"
import { eitherSignal } from "../combined-signal.ts"
import { encodeRich, isRichType } from "../wire-format.ts"

/** The change stream as Server-Sent Events. The id of each event is the cursor after it: a caller that connects again with it misses nothing. */

const query = { cursor: optional(string({ description: "the id of the last event that you have seen; `latest`: from now on" })) }
const headers = { "Last-Event-ID": "the same as the query parameter cursor; browsers send it when they connect again" }
const answers = { 200: { description: "an event for each change, whose data is the change", type: "text/event-stream" } } as const
const common = { method: "GET", tag: "streams", actions: ["read"], query, headers, answers } as const

/** The content does not depend on the caller: a caller who may follow gets the whole change. */
const plainChanges = new EncodedChanges((change) => encodeDocument(change))
const richChanges = new EncodedChanges(encodeRich)

type StreamCall = Pick<Call<string, Fields, unknown>, "request" | "settings" | "isHead" | "disconnect"> & { readonly query: { readonly cursor?: string } }

async function stream(
  { request, settings, isHead, disconnect, query: { cursor: asked } }: StreamCall,
  changesFrom: (cursor?: string) => Changes,
): Promise<Response> {
  const responseHeaders = { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" }
  if (isHead) return new Response(null, { headers: responseHeaders })
  // A browser connects again to the same address, so its header is newer than the query.
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
    summary: "The changes of all instances",
    errors: [400],
    handle: (call) => stream(call, (cursor) => call.client.changes(cursor)),
  }),
  route({
    ...common,
    path: "/workflows/:id/stream",
    name: "streamChangesOfInstance",
    summary: "The changes of an instance",
    errors: [400, 404],
    handle: async (call) => {
      const handle = call.client.get(call.params.id)
      if (call.isHead) await handle.status()
      return stream(call, (cursor) => handle.changes(cursor))
    },
  }),
]
