// The program on Node: on SQLite, or on PostgreSQL if DATABASE_URL says where it is. Stop it in the middle and start it again.

import { openWorkflows } from "perdure/cloudflare-workflows"
import { postgres } from "perdure/postgres"
import { sqlite } from "perdure/sqlite"
import { Checkout, Parcel } from "./checkout.ts"

const { DATABASE_URL: url } = process.env
const ledger: string[] = []
const { env, engine } = await openWorkflows({
  store: url === undefined ? sqlite("checkout.db") : postgres({ connectionString: url }),
  workflows: { CHECKOUT: Checkout, PARCEL: Parcel },
  env: { LEDGER: ledger },
})

const instance = await env.CHECKOUT.get("c-1").catch(() => env.CHECKOUT.create({ id: "c-1", params: { cart: "lamp", amount: 40 } }))
const events = await instance.subscribe()
for await (const event of events) {
  console.log(event.type, "stepName" in event ? event.stepName : "")
  if (event.type === "wait_started") await instance.sendEvent({ type: "approval", payload: { approved: true, by: "Ada" } })
}
console.log(await instance.status())
for (const line of ledger) console.log(line)
await engine.close()
