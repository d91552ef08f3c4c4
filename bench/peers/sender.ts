// A process that only sends events, to workflows of another process: `node bench/peers/sender.ts <peer> <place>`, with a channel to that process.

import type { OpenSender, Place } from "./adapter.ts"

const [id = "", place = ""] = process.argv.slice(2)
const { openSender } = (await import(`./adapters/${id}.ts`)) as { readonly openSender?: OpenSender }
if (openSender === undefined) throw new Error(`the adapter of ${id} has no sender`)
const sender = await openSender(JSON.parse(place) as Place)

process.on("message", (number: number) => {
  const sentAt = process.hrtime.bigint()
  void sender.sendEvent(number, number).then(() => process.send?.({ number, sentAt: String(sentAt) }))
})
process.on("disconnect", () => void sender.close().finally(() => process.exit(0)))
process.send?.("ready")
