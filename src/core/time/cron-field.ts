/** One field of a cron expression: numbers or names, in ranges, steps and lists. cron-days.ts has the further forms of days. */

export interface FieldShape {
  readonly name: string
  readonly min: number
  readonly max: number
  /** The names of the values; the first name stands for `min`. */
  readonly names?: readonly string[]
}

export interface CronField {
  /** The values in ascending order, without duplicates. */
  readonly values: readonly number[]
  /** Whether the field has a `*`, also with a step. */
  readonly wild: boolean
}

/** Makes an error about a part of the field. */
export type Refusal = (part: string, why: string) => Error

const weekdayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

export const fieldShapes = {
  second: { name: "second", min: 0, max: 59 },
  minute: { name: "minute", min: 0, max: 59 },
  hour: { name: "hour", min: 0, max: 23 },
  date: { name: "day-of-month", min: 1, max: 31 },
  month: { name: "month", min: 1, max: 12, names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"] },
  weekday: { name: "day-of-week", min: 0, max: 7, names: weekdayNames },
} satisfies Record<string, FieldShape>

/** Parses a field. `special` handles parts of the list that only one field has, and returns true for those. */
export function parseField(text: string, shape: FieldShape, refuse: Refusal, special: (part: string) => boolean = () => false): CronField {
  const values = new Set<number>()
  let wild = false
  for (const part of text.toUpperCase().split(",")) {
    if (special(part)) continue
    const [range = "", stepText, ...rest] = part.split("/")
    if (rest.length > 0) throw refuse(part, "it has two steps")
    const isStar = range === "*" || range === "?"
    const [from, to] = isStar ? [shape.min, shape.max] : parseRange(range, part, shape, refuse)
    if (stepText !== undefined && !isStar && !range.includes("-")) throw refuse(part, `a step needs a range: write ${range}-${shape.max}/${stepText}`)
    const step = stepText === undefined ? 1 : parseStep(stepText, part, shape, refuse)
    for (let value = from; value <= to; value += step) values.add(value)
    if (isStar) wild = true
  }
  return { values: [...values].sort((a, b) => a - b), wild }
}

function parseRange(range: string, part: string, shape: FieldShape, refuse: Refusal): [number, number] {
  const [first = "", last = first, ...rest] = range.split("-")
  if (rest.length > 0) throw refuse(part, "a range has two ends")
  const from = parseValue(first, part, shape, refuse)
  const to = parseValue(last, part, shape, refuse)
  if (from <= to) return [from, to]
  // Sunday is 0 and 7: FRI-SUN ends on 7, and 7-2 begins on 0.
  if (shape.max === 7 && to === 0) return [from, 7]
  if (shape.max === 7 && from === 7) return [0, to]
  const [min = shape.min, max = shape.max] = shape.names?.includes(first) ? [shape.names[0], shape.names.at(-1)] : []
  throw refuse(part, `the range runs backwards: write ${first}-${max},${min}-${last}`)
}

/** The value of a number or a name. */
export function parseValue(text: string, part: string, shape: FieldShape, refuse: Refusal): number {
  const named = shape.names?.indexOf(text) ?? -1
  if (named >= 0) return shape.min + named
  if (!/^\d{1,2}$/.test(text)) throw refuse(part, text === "" ? "a value is missing" : `${text} is no ${shape.name}`)
  const value = Number(text)
  if (value < shape.min || value > shape.max) throw refuse(part, `${value} is not in ${shape.min}-${shape.max}`)
  return value
}

function parseStep(text: string, part: string, shape: FieldShape, refuse: Refusal): number {
  const step = /^\d{1,2}$/.test(text) ? Number(text) : 0
  const max = shape.max - shape.min
  if (step < 1 || step > max) throw refuse(part, `the step is ${text === "" ? "missing" : text}, but must be a number in 1-${max}`)
  return step
}
