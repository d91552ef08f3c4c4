import { memory } from "../../stores/memory/memory-provider.ts"
import { createTestEngine } from "../test-engine.ts"
import { describeScenarios } from "./describe-scenarios.ts"

describeScenarios("memory", ({ wrap = (store) => store, ...options }) => createTestEngine({ ...options, store: wrap(memory()) }))
