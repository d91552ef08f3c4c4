/** The constants that writer and reader of the rich form share. */

/** Values that are written as a negative number instead of a reference. */
export const stands: readonly (readonly [number, unknown])[] = [
  [-1, undefined],
  [-3, NaN],
  [-4, Infinity],
  [-5, -Infinity],
  [-6, -0],
]

export const viewTypes: ReadonlySet<string> = new Set(
  "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Float16Array Int32Array Uint32Array Float32Array Float64Array BigInt64Array BigUint64Array DataView".split(
    " ",
  ),
)

/** Types that are made from their text. */
export const textTypes = /^(?:URL|URLSearchParams|Temporal\.(?:Duration|Instant|Plain(?:Date|Time|DateTime|MonthDay|YearMonth)|ZonedDateTime))$/
