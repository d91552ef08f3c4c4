import type { FlowControl } from "../../ports/flow-control.ts"
import type { SqlDriver } from "../../ports/sql-driver.ts"
import { ObjectSlotTable } from "../../stores/sqlite/object/object-slot-table.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import { SqliteFlowControl } from "../../stores/sqlite/sqlite-flow-control.ts"
import { SqliteFlowTransaction } from "../../stores/sqlite/tables/flow-transaction.ts"
import type { TurnFlow } from "../../stores/sqlite/tables/turn-flow-port.ts"
import type { Slots } from "../objects/instance-object.ts"
import { ObjectFlowControl } from "../store/object-flow-control.ts"
import type { ObjectStoreOptions } from "../store/object-store.ts"
import { SlotRequester } from "../store/slot-requester.ts"
import { UniqueKeyCommits } from "../store/unique-key-commits.ts"
import type { ObjectEnvironment } from "./object-environment.ts"

/** The slots and the unique keys of the instance in one object. Each limit key is an object of its own, which the instance asks over RPC. */
export class ObjectFlow {
  readonly slots: Slots
  readonly keys: SlotRequester
  readonly #site: ObjectEnvironment
  readonly #permits: ObjectSlotTable

  constructor(site: ObjectEnvironment) {
    const { driver, network, now, config } = site
    this.#site = site
    this.#permits = new ObjectSlotTable(driver)
    this.keys = new SlotRequester(this.#permits, (key) => network.limit(key), now, config.log)
    this.slots = { backgroundSender: this.keys, permits: this.#permits }
  }

  uniqueKeyCommits(directory: ObjectStoreOptions["directory"], onWritten: () => void): UniqueKeyCommits {
    return new UniqueKeyCommits(this.keys, directory, onWritten)
  }

  /** What turns do to slots and keys, and what the engine asks of flow control. */
  open(driver: SqlDriver): {
    readonly inTurns: TurnFlow
    control(tables: SqliteTables, hooks: Pick<ObjectStoreOptions, "own" | "onWritten">): FlowControl
  } {
    const { network, now } = this.#site
    const permits = this.#permits
    const inTurns = new SqliteFlowTransaction(driver, now, permits.isPermitted)
    return {
      inTurns,
      control: (tables, hooks) => {
        permits.admit = (admitted) => inTurns.transaction(() => inTurns.admission.limitsChanged(admitted))
        permits.admitHeld()
        return new ObjectFlowControl({ ...hooks, local: new SqliteFlowControl({ ...tables, flow: inTurns }), network, permits: this.keys })
      },
    }
  }
}
