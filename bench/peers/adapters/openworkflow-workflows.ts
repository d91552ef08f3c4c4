// What is the same for OpenWorkflow on each of its backends.

import { setTimeout as delay } from "node:timers/promises"
import { OpenWorkflow } from "openworkflow"
import type { Backend } from "openworkflow/internal"
import { type Peer, sleepMs } from "../adapter.ts"
import { ring } from "../doorbell.ts"
import { Turns } from "./turns.ts"

export interface OpenworkflowSettings {
  readonly concurrency: number
  readonly resultPollMs: number
}

/** Runs whose rows are read at the same time. */
const pollsMax = 4

const signalTo = (number: number) => `go-${number}`

export async function openworkflowPeer(backend: Backend, { concurrency, resultPollMs }: OpenworkflowSettings): Promise<Peer> {
  const client = new OpenWorkflow({ backend })
  const workflows = {
    sequence: client.defineWorkflow<number, number>({ name: "sequence" }, async ({ input, step }) => {
      for (let i = 0; i < input; i++) await step.run({ name: `step-${i}` }, async () => ({ i }))
      return input
    }),
    fan: client.defineWorkflow<number, number>({ name: "fan" }, async ({ input, step }) => {
      await Promise.all(Array.from({ length: input }, (_, i) => step.run({ name: `step-${i}` }, async () => ({ i }))))
      return input
    }),
    listener: client.defineWorkflow<number, number>({ name: "listener" }, async ({ input, step }) => {
      ring(input)
      const signal = await step.waitForSignal<number>({ signal: signalTo(input) })
      return signal?.data ?? Number.NaN
    }),
    sleeper: client.defineWorkflow<number, number>({ name: "sleeper" }, async ({ input, step }) => {
      ring(input)
      await step.sleep("nap", `${sleepMs}ms`)
      return Date.now()
    }),
  }
  const worker = client.newWorker({ concurrency })
  await worker.start()
  const turns = new Turns(pollsMax)
  return {
    async start(kind, input) {
      const { workflowRun } = await workflows[kind].run(input)
      return { result: () => turns.take(() => resultOf(backend, workflowRun.id, resultPollMs)) }
    },
    async sendEvent(number, value) {
      const { workflowRunIds } = await client.sendSignal({ signal: signalTo(number), data: value })
      if (workflowRunIds.length === 0) throw new Error("nobody was waiting for the signal")
    },
    async close() {
      await worker.stop()
      await backend.stop()
    },
  }
}

async function resultOf(backend: Backend, workflowRunId: string, pollMs: number): Promise<number> {
  for (;;) {
    const run = await backend.getWorkflowRun({ workflowRunId })
    if (run?.status === "completed") return Number(run.output)
    if (run?.status === "failed") throw new Error(`a run failed: ${JSON.stringify(run.error)}`)
    await delay(pollMs)
  }
}
