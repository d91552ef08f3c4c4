import { annotations as ownNotes } from "../../engine/all-features.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `ctx.tags` and `ctx.setMemo`: what the code notes about its instance. */
export const annotations: RunnerPart = { features: { annotations: ownNotes } }
