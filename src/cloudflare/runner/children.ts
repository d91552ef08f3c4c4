import { childSupport } from "../../engine/all-features.ts"
import { OutboxSender } from "../objects/outbox-sender.ts"
import { SafeLogger } from "../../hosts/safe-logger.ts"
import { OutboxTable } from "../../stores/sqlite/object/outbox-table.ts"
import type { RunnerPart } from "./runner-feature.ts"

/** For `ctx.startChild` and `ctx.runChild`: instances that start, cancel and wait for others, in objects of their own. */
export const children: RunnerPart = {
  features: { children: childSupport },
  tables: OutboxTable.parts,
  outbox: {
    table: (driver) => new OutboxTable(driver),
    sender: ({ tables, network, now, setting }) => new OutboxSender(tables, network, now, new SafeLogger(setting.log)),
  },
}
