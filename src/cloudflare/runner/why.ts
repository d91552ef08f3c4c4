import { readWhy } from "../../engine/diagnostics/why-reader.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `why`: what an instance waits for, in words. */
export const why: RunnerPart = { answers: (core) => ({ why: (id: string) => readWhy(core, id) }) }
