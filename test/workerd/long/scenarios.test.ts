import { createTestEngine, type TestEngine } from "../../../src/testing/test-engine.ts"
import { clearReadCache } from "../../../src/stores/sqlite/object/object-sql-driver.ts"
import { multiInstanceStore } from "../multi-instance-store.ts"
import { describeScenarios } from "../../../src/testing/scenarios/describe-scenarios.ts"
import { currentState } from "../vitest-in-object.ts"

// The `setImmediate` of workerd takes a millisecond, and virtual time needs a great many of its calls.
Object.assign(globalThis, { setImmediate: (then: () => void) => void currentState().storage.sync().then(then) })

/** The engines that a scenario has opened in each object. */
const opened = new WeakMap<object, TestEngine[]>()

describeScenarios("a Durable Object's database", async ({ wrap = (store) => store, ...options }) => {
  const { storage } = currentState()
  const before = opened.get(storage) ?? []
  opened.set(storage, before)
  // An object has one database, so an empty database means that the existing one is deleted.
  for (const engine of before.splice(0)) await engine.close()
  await storage.deleteAll()
  clearReadCache(storage)
  const engine = await createTestEngine({ ...options, store: wrap(multiInstanceStore(storage)) })
  before.push(engine)
  return engine
})
