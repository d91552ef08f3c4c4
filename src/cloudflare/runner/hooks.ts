import { hookCalls } from "../../engine/all-features.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `onCompleted`, `onFailed`, `onCancelled` and `onStalled`, of workflows and of the runner. */
export const hooks: RunnerPart = { features: { hooks: hookCalls } }
