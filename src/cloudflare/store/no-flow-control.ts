import type { FlowControl } from "../../ports/flow-control.ts"

/** That of workflows which have neither limits nor keys. */
export const noFlowControl: FlowControl = {
  declare: async () => undefined,
  limitsOf: async () => [],
  override: async () => "unknown",
  holder: async () => undefined,
  waitOf: async () => undefined,
  assign: async () => false,
  onAdmitted: () => () => undefined,
}
