import { nestedSteps as insideSteps } from "../../engine/all-features.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For steps, sleeps and waits inside steps: `async ({ step }) => step.do(…)`. */
export const nestedSteps: RunnerPart = { features: { nestedSteps: insideSteps } }
