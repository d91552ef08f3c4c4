import type { DefineFunction } from "./function-definitions.ts"

/** The server's time in milliseconds. */
export const serverTime = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

/** The clock that decides leases and what is due, for all processes alike. Tests move the clock by the setting, for their own connections only. */
export function clockFunctions(defineFunction: DefineFunction) {
  return {
    nowMs: defineFunction(
      "now_ms",
      `() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('perdure.now_ms', true), '')::bigint, ${serverTime})
  $$`,
    ),
  }
}
