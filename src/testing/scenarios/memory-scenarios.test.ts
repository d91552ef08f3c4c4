import { createTestEngine } from "../test-engine.ts"
import { describeScenarios } from "./describe-scenarios.ts"

describeScenarios("memory", (options) => createTestEngine(options))
