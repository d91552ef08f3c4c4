import { expect, it } from "vitest"
import { silentLogger } from "../../../hosts/silent-logger.ts"
import { fromPayload } from "./notification-payload.ts"
import { Notifier } from "./notifier.ts"
import type { PostgresPool } from "../connection/pg.ts"

const pool = { connect: () => Promise.reject(new Error("nobody is told afterwards")), end: () => Promise.resolve(), on() {} } as unknown as PostgresPool

const eventFor = (instance: string) => ({ instance, kind: "event", at: 1 }) as const

it("who has messages is named within the transaction where it is quiet, and afterwards where many are delivered one after another", async () => {
  const notifier = new Notifier(pool, undefined, "some", silentLogger)
  expect(fromPayload(notifier.notificationFor([eventFor("a"), eventFor("b")])?.payload ?? "").flags).toEqual(["ma", "mb"])
  expect(notifier.notificationFor([eventFor("a")])).toBeUndefined()
  expect(notifier.notificationFor([eventFor("a")])).toBeUndefined()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(notifier.notificationFor([eventFor("a")])).toBeDefined()
  await notifier.close()
})
