// Where two engines show something else.

export interface Difference {
  /** Where in what the program shows: `end.output`, `events.3`. */
  readonly at: string
  readonly theirs: unknown
  readonly ours: unknown
}

/** Lists of different lengths are one difference. */
export function differencesOf(theirs: unknown, ours: unknown, at = ""): readonly Difference[] {
  if (isList(theirs) && isList(ours) && theirs.length === ours.length) return theirs.flatMap((item, index) => differencesOf(item, ours[index], join(at, index)))
  if (isRecord(theirs) && isRecord(ours)) {
    const keys = new Set([...Object.keys(theirs), ...Object.keys(ours)])
    return [...keys].flatMap((key) => differencesOf(theirs[key], ours[key], join(at, key)))
  }
  return JSON.stringify(theirs) === JSON.stringify(ours) ? [] : [{ at, theirs, ours }]
}

function join(at: string, key: string | number): string {
  return at === "" ? String(key) : `${at}.${key}`
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
