export { introspectWorkflow, introspectWorkflowInstance, type IntrospectableBinding } from "./testing/cloudflare-workflows/introspect-workflow.ts"
export type {
  WorkflowInstanceIntrospector,
  WorkflowInstanceModifier,
  WorkflowIntrospector,
  WorkflowStepSelector,
} from "./testing/cloudflare-workflows/introspection.ts"
export { createWorkflowsTestEngine, type WorkflowsTestEngine, type WorkflowsTestEngineOptions } from "./testing/cloudflare-workflows/workflows-test-engine.ts"
export { checkJournals, type CheckOptions } from "./testing/check-journals.ts"
export { createTestEngine, type PublicTestEngine as TestEngine } from "./testing/public-test-engine.ts"
export { expectReplay, type TestEngineOptions } from "./testing/test-engine.ts"
export {
  simulate,
  type SimulateOptions,
  type SimulatedAction,
  type SimulatedEvent,
  type SimulatedFaults,
  type SimulationReport,
  type SimulationSetup,
} from "./testing/simulate.ts"
export type { Seed } from "./testing/simulation/fault-plan.ts"
export type { SimulatedWorld } from "./testing/simulation/simulated-world.ts"
export { SimulationError } from "./testing/simulation/simulation-error.ts"
export type { Mock, MockedStep, MockOptions } from "./testing/step-mocks.ts"
export type { PassingTimers, PassOptions } from "./testing/passing-timers.ts"
export type { InstanceChoice } from "./testing/selected-instances.ts"
export type { CheckProblem, CheckProblemKind, CheckReport } from "./engine/diagnostics/journal-check.ts"
export type { JournalSource } from "./engine/diagnostics/journal-source.ts"
export type { JournalExport, Replayed } from "./engine/diagnostics/read-only-replay.ts"
export { memory } from "./stores/memory/memory-provider.ts"
