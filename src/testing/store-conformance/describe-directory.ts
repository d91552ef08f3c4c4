import { afterEach, beforeEach, describe } from "vitest"
import type { StoreProvider } from "../../ports/store.ts"
import { annotationCases } from "./annotation-cases.ts"
import { directoryCases } from "./directory-cases.ts"
import { inboxCases } from "./inbox-cases.ts"
import { StoreBed } from "./store-bed.ts"

/** The conformance suite of directories, also of a directory over a network whose journals are written elsewhere. `provide` gives an empty one for each case. */
export function describeDirectory(name: string, provide: () => StoreProvider): void {
  describe(`${name} as a directory`, () => {
    let current: StoreBed | undefined
    const bed = () => {
      if (current === undefined) throw new Error("there is a bed only while a test runs")
      return current
    }
    beforeEach(async () => {
      current = new StoreBed(provide())
      await current.open()
    })
    afterEach(async () => {
      await current?.close()
      current = undefined
    })

    directoryCases(bed)
    annotationCases(bed)
    inboxCases(bed)
  })
}
