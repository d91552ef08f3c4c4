import { PerdureError } from "../../core/errors.ts"

export function storeClosedError(): PerdureError {
  return new PerdureError("ENGINE_CLOSED", "the store is closed; open the engine again")
}
