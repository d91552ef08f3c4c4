import { afterEach, beforeEach, describe } from "vitest"
import type { StoreProvider } from "../../ports/store.ts"
import { annotationCases } from "./annotation-cases.ts"
import { changeCases } from "./change-cases.ts"
import { claimCases } from "./claim-cases.ts"
import { claimOrderCases } from "./claim-order-cases.ts"
import { clientTransactionCases } from "./client-transaction-cases.ts"
import { commitCases } from "./commit-cases.ts"
import { createCases } from "./create-cases.ts"
import { declaredEventCases } from "./declared-event-cases.ts"
import { directoryCases } from "./directory-cases.ts"
import { limitCases } from "./limit-cases.ts"
import { lineCases } from "./line-cases.ts"
import { uniqueCases } from "./unique-cases.ts"
import { inboxCases } from "./inbox-cases.ts"
import { leaseCases } from "./lease-cases.ts"
import { taskCases } from "./task-cases.ts"
import { lifeCycleCases } from "./life-cycle-cases.ts"
import { queueCases } from "./queue-cases.ts"
import { payloadCases } from "./payload-cases.ts"
import { sendCases } from "./send-cases.ts"
import { scheduleCases } from "./schedule-cases.ts"
import { StoreBed } from "./store-bed.ts"

/** The conformance suite of stores. `provide` gives an empty store for each case. It imports nothing of Node, so that it runs on every host. */
export function describeStore(name: string, provide: () => StoreProvider | Promise<StoreProvider>, has: OptionalPorts = {}): void {
  describe(`${name} as a store`, () => {
    let current: StoreBed | undefined
    const bed = () => {
      if (current === undefined) throw new Error("there is a bed only while a test runs")
      return current
    }
    beforeEach(async () => {
      current = new StoreBed(await provide())
      await current.open()
    })
    afterEach(async () => {
      await current?.close()
      current = undefined
    })

    commitCases(bed)
    createCases(bed)
    inboxCases(bed)
    sendCases(bed)
    declaredEventCases(bed)
    claimCases(bed)
    claimOrderCases(bed)
    leaseCases(bed)
    lineCases(bed)
    limitCases(bed)
    uniqueCases(bed)
    directoryCases(bed)
    queueCases(bed)
    annotationCases(bed)
    changeCases(bed)
    payloadCases(bed)
    scheduleCases(bed)
    lifeCycleCases(bed)
    if (has.tasks !== false) taskCases(bed)
    if (has.clientTransactions) clientTransactionCases(bed)
  })
}

/** Features that only some stores have. */
interface OptionalPorts {
  /** Task queues, unless this is false. */
  readonly tasks?: false
  /** Asynchronous transactions of steps, and transactions of callers. */
  readonly clientTransactions?: true
}
