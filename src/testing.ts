export { createTestEngine, expectReplay, type TestEngine, type TestEngineOptions } from "./testing/test-engine.ts"
export type { Mock } from "./testing/step-mocks.ts"
export type { JournalExport, Replayed } from "./engine/replay.ts"
export { memory } from "./stores/memory/memory.ts"
