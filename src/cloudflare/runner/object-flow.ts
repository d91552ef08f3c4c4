import type { SqlDriver } from "../../ports/sql-driver.ts"
import { ObjectSlotTable } from "../../stores/sqlite/object/object-slot-table.ts"
import type { SqliteTables } from "../../stores/sqlite/sqlite-components.ts"
import { SqliteFlowControl } from "../../stores/sqlite/sqlite-flow-control.ts"
import { SqliteFlowTransaction } from "../../stores/sqlite/tables/flow-transaction.ts"
import type { StoreHooks } from "../objects/instance-object.ts"
import { ObjectFlowControl } from "../store/object-flow-control.ts"
import { SlotRequester } from "../store/slot-requester.ts"
import type { ObjectEnvironment } from "./object-environment.ts"

/** The slots and the unique keys of the instance in one object. Each limit key is an object of its own, which the instance asks over RPC. */
export class ObjectFlow {
  readonly requests: ObjectSlotTable
  readonly requester: SlotRequester
  readonly #environment: ObjectEnvironment

  constructor(environment: ObjectEnvironment) {
    const { driver, network, now, config } = environment
    this.#environment = environment
    this.requests = new ObjectSlotTable(driver)
    this.requester = new SlotRequester(this.requests, (key) => network.limit(key), now, config.log)
  }

  /** The changes that turns make to slots and keys. */
  openTransaction(driver: SqlDriver): SqliteFlowTransaction {
    return new SqliteFlowTransaction(driver, this.#environment.now, this.requests.isPermitted)
  }

  /** The port of flow control for the engine. From here on a granted slot admits the instance. */
  openControl(tables: SqliteTables, flow: SqliteFlowTransaction, hooks: Omit<StoreHooks, "beforeFirstWrite">): ObjectFlowControl {
    this.requests.admit = (admitted) => flow.transaction(() => flow.admission.limitsChanged(admitted))
    this.requests.admitHeld()
    return new ObjectFlowControl({
      local: new SqliteFlowControl({ ...tables, flow }),
      ownId: hooks.ownId,
      network: this.#environment.network,
      slots: this.requester,
      afterWrite: hooks.afterWrite,
    })
  }
}
