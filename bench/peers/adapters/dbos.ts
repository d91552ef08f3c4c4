import { DBOS, DBOSClient } from "@dbos-inc/dbos-sdk"
import { type OpenPeer, type OpenSender, sleepMs } from "../adapter.ts"
import { ring } from "../doorbell.ts"
import { dbos } from "./dbos-peer.ts"
import { databaseOf, freshDatabase } from "./fresh-database.ts"

const stepOf = (i: number) => DBOS.runStep(async () => ({ i }), { name: "step" })

const sequence = DBOS.registerWorkflow(
  async (steps: number) => {
    for (let i = 0; i < steps; i++) await stepOf(i)
    return steps
  },
  { name: "sequence" },
)

const fan = DBOS.registerWorkflow(
  async (steps: number) => {
    await Promise.all(Array.from({ length: steps }, (_, i) => stepOf(i)))
    return steps
  },
  { name: "fan" },
)

const listener = DBOS.registerWorkflow(
  async (number: number) => {
    ring(number)
    return (await DBOS.recv<number>("go")) ?? Number.NaN
  },
  { name: "listener" },
)

const sleeper = DBOS.registerWorkflow(
  async (number: number) => {
    ring(number)
    await DBOS.sleep(sleepMs)
    return Date.now()
  },
  { name: "sleeper" },
)

const workflows = { sequence, fan, listener, sleeper }

export const open: OpenPeer = async (place) => {
  const database = await freshDatabase(place)
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: database.url, logLevel: "error", ...dbos.settings })
  await DBOS.launch()
  return {
    async start(kind, input) {
      const handle = await DBOS.startWorkflow(workflows[kind], kind === "listener" ? { workflowID: `listener-${input}` } : {})(input)
      return { result: async () => (await handle.getResult()) ?? Number.NaN }
    },
    sendEvent: (number, value) => DBOS.send(`listener-${number}`, value, "go"),
    async close() {
      await DBOS.shutdown()
      await database.drop()
    },
  }
}

export const openSender: OpenSender = async (place) => {
  const client = await DBOSClient.create({ systemDatabaseUrl: databaseOf(place) })
  return { sendEvent: (number, value) => client.send(`listener-${number}`, value, "go"), close: () => client.destroy() }
}
