import { encodePlain } from "../../http/wire.ts"

/** A value as plain JSON, the same as the HTTP API gives it. */
export function asJson(value: unknown, indent?: number): string {
  const text = encodePlain(value)
  return indent === undefined ? text : JSON.stringify(JSON.parse(text), undefined, indent)
}
