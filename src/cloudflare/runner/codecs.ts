import { codecSupport } from "../../engine/all-features.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For the options `codec` and `retiredCodecs`. */
export const codecs: RunnerPart = { features: { codecs: codecSupport } }
