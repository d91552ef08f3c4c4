import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { allMethods, type OpenClient, type OpenedClient, UseRecord } from "./client-bed.ts"
import { hostileCases } from "./hostile-cases.ts"
import { instanceCases } from "./instance-cases.ts"
import { overviewCases } from "./overview-cases.ts"
import { sampleWorkflows } from "./sample-workflows.ts"
import { scheduleCases } from "./schedule-cases.ts"
import { startCases } from "./start-cases.ts"
import { taskCases } from "./task-cases.ts"

/** The conformance suite of clients, in process or remote. It imports nothing of Node, so that it runs on every host. */
export function describeClient(name: string, open: OpenClient): void {
  describe(`${name} as a client`, () => {
    const record = new UseRecord()
    let opened: OpenedClient | undefined
    const client = () => {
      if (opened === undefined) throw new Error("there is a client only while a test runs")
      return record.of(opened.client)
    }
    beforeEach(async () => {
      opened = await open(sampleWorkflows)
    })
    afterEach(async () => {
      await opened?.close()
      opened = undefined
    })

    startCases(client)
    instanceCases(client)
    overviewCases(client)
    scheduleCases(client)
    taskCases(client)
    hostileCases(client)

    it("uses every method of a client", () => {
      expect(allMethods.filter((method) => !record.used.has(method))).toEqual([])
    })
  })
}
