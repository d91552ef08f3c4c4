import { checkFlowOptions } from "../../core/workflow/flow-options.ts"
import { defaultLimits } from "../../core/workflow/input-limits.ts"
import { flowRules } from "../../engine/all-features.ts"
import { declaredLimits, declaredNumbers } from "../../engine/flow-control/flow-keys.ts"
import { WorkflowRegistry } from "../../engine/workflow-registry.ts"
import { LimitObject } from "../objects/limit-object.ts"
import { LimitSettingsObject } from "../objects/limit-settings-object.ts"
import { ObjectFlowControl } from "../store/object-flow-control.ts"
import { UniqueKeyCommits } from "../store/unique-key-commits.ts"
import { limitKeyOf } from "../store/object-name.ts"
import { SlotRequester } from "../store/slot-requester.ts"
import { isLimitKey, SqliteLimitKey } from "../../stores/sqlite/object/limits/sqlite-limit-key.ts"
import { SqliteLimitSettings } from "../../stores/sqlite/object/limits/sqlite-limit-settings.ts"
import { ObjectSqlDriver } from "../../stores/sqlite/object/object-sql-driver.ts"
import { SqliteFlowTransaction } from "../../stores/sqlite/tables/flow-transaction.ts"
import { SqliteFlowControl } from "../../stores/sqlite/sqlite-flow-control.ts"
import { permitParts, ObjectSlotTable } from "../../stores/sqlite/object/object-slot-table.ts"
import { flowTables } from "../../stores/sqlite/schema/table-statements.ts"
import type { FlowPart, RunnerPart } from "./runner-feature.ts"

const flow: FlowPart = {
  check: ({ name, options }) => checkFlowOptions(name, options),
  slots: ({ driver: own, network, now, setting }) => {
    const permits = new ObjectSlotTable(own)
    const keys = new SlotRequester(permits, (key) => network.limit(key), now, setting.log)
    return {
      slots: { backgroundSender: keys, permits },
      keys,
      keyed: (directory, onWritten) => new UniqueKeyCommits(keys, directory, onWritten),
      open: (driver) => {
        const inTurns = new SqliteFlowTransaction(driver, now, permits.isPermitted)
        return {
          flow: inTurns,
          control: (tables, edge) => {
            permits.admit = (admitted) => inTurns.transaction(() => inTurns.admission.limitsChanged(admitted))
            permits.admitHeld()
            return new ObjectFlowControl({ ...edge, local: new SqliteFlowControl({ ...tables, flow: inTurns }), network, permits: keys })
          },
        }
      },
    }
  },
  limit: ({ name, storage, network, now, setting }, workflows) => {
    const own = new ObjectSqlDriver(storage)
    const open = () => new SqliteLimitKey(own, now, declaredNumbers(workflows))
    return new LimitObject({ key: limitKeyOf(name), storage, network, now, log: setting.log, isThere: () => isLimitKey(own), open })
  },
  numbers: ({ storage, network, now, setting }, workflows) => {
    const registry = new WorkflowRegistry(workflows, defaultLimits)
    const declared = (name: string) => declaredLimits(registry).find(({ workflow }) => workflow === name)?.limits ?? []
    return new LimitSettingsObject(new SqliteLimitSettings(new ObjectSqlDriver(storage)), declared, storage, network, now, setting.log)
  },
}

/** For workflows with `concurrency`, `rateLimit`, `priority`, `debounce` or `singleton`. */
export const flowControl: RunnerPart = { features: { flow: flowRules }, tables: { ...flowTables, ...permitParts }, flow }
