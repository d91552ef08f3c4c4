import { once } from "node:events"
import { createServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { type Context, createEndpointHandler, RestatePromise, service } from "@restatedev/restate-sdk"
import { connect } from "@restatedev/restate-sdk-clients"
import { type OpenPeer, sleepMs } from "../adapter.ts"
import { ring } from "../doorbell.ts"

/** By the number of the listener. Its code runs in this process, so this is how the sender learns the id that Restate gave the event. */
const awakeables = new Map<number, string>()

const bench = service({
  name: "bench",
  handlers: {
    async sequence(ctx: Context, steps: number): Promise<number> {
      for (let i = 0; i < steps; i++) await ctx.run("step", async () => ({ i }))
      return steps
    },
    async fan(ctx: Context, steps: number): Promise<number> {
      await RestatePromise.all(Array.from({ length: steps }, (_, i) => ctx.run("step", async () => ({ i }))))
      return steps
    },
    async listener(ctx: Context, number: number): Promise<number> {
      const { id, promise } = ctx.awakeable<number>()
      awakeables.set(number, id)
      ring(number)
      return promise
    },
    async sleeper(ctx: Context, number: number): Promise<number> {
      ring(number)
      await ctx.sleep(sleepMs)
      return Date.now()
    },
  },
})

export const open: OpenPeer = async ({ restate }) => {
  if (restate === undefined) throw new Error("this engine needs its server")
  const server = createServer(createEndpointHandler({ services: [bench], bidirectional: true, logger: () => {} }))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const response = await fetch(`${restate.adminUrl}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}` }),
  })
  if (!response.ok) throw new Error(`the server refused the workflows: ${await response.text()}`)
  const ingress = connect({ url: restate.ingressUrl })
  const client = ingress.serviceClient(bench)
  return {
    async start(kind, input) {
      const result = Promise.resolve(client[kind](input))
      return { result: () => result }
    },
    async sendEvent(number, value) {
      const id = awakeables.get(number)
      if (id === undefined) throw new Error(`there is no listener ${number}`)
      await ingress.resolveAwakeable(id, value)
    },
    close: async () => void server.close(),
  }
}
