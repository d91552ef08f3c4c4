import { PerdureError } from "../errors.ts"
import { memo } from "../collections/memo.ts"

/**
 * What the clocks on the wall show, and when. A wall time is written as the milliseconds since 1970 that a clock in UTC would
 * need to show the same: wall = instant + offset. What the offset is only Intl knows, and asking it takes microseconds: so a
 * zone remembers, for blocks of three days, the offset and when it changes. No zone has ever changed its offset twice within
 * three days (Freetown came nearest, in 1939), so a block that begins and ends alike has no change in it.
 */

const hour = 3_600_000
const block = 72 * hour
/** Offsets reach from Manila's -15:56 to Alaska's +15:02, both in the nineteenth century. */
const offsetMax = 16 * hour
/** What a Date can hold. */
const atMax = 8.64e15

/** From the instant `at` on, the offset is `to` and no longer `from`. */
export interface OffsetChange {
  readonly at: number
  readonly from: number
  readonly to: number
}

export class TimeZone {
  readonly #blockAt: (index: number) => OffsetChange

  constructor(offsetOf: (at: number) => number) {
    const bounded = (at: number) => offsetOf(Math.max(-atMax, Math.min(atMax, at)))
    this.#blockAt = memo((index) => changeWithin(bounded, index * block, (index + 1) * block), 2000)
  }

  offsetAt(at: number): number {
    const change = this.#blockAt(Math.floor(at / block))
    return at < change.at ? change.from : change.to
  }

  /** The first change of the offset later than `after`, and at `until` at the latest. */
  changeBetween(after: number, until: number): OffsetChange | undefined {
    for (let index = Math.floor(after / block); index * block < until; index++) {
      const change = this.#blockAt(index)
      if (change.at > after && change.at <= until) return change
    }
    return undefined
  }

  /**
   * When the clocks first show this time or a later one. For a time that they show twice, that is the first of the two; for a
   * time that they skip, the instant at which they jump.
   */
  firstInstantOf(wall: number): number {
    let from = wall - offsetMax
    let offset = this.offsetAt(from)
    for (;;) {
      const at = wall - offset
      const change = this.changeBetween(from, at)
      if (change === undefined) return at
      if (change.at + change.to >= wall) return change.at
      from = change.at
      offset = change.to
    }
  }
}

/** A block owns a change at its end, and none at its start. For a block without one, a change that never comes. */
function changeWithin(offsetOf: (at: number) => number, start: number, end: number): OffsetChange {
  const from = offsetOf(start)
  const to = offsetOf(end)
  if (from === to) return { at: Infinity, from, to }
  let before = start
  let after = end
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetOf(middle) === from) before = middle
    else after = middle
  }
  return { at: after, from, to }
}

const form = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/

/** "1/1/1970, GMT+01:00" is what Intl writes; "GMT" alone, or with +00:00, for none. */
function offsetIn(text: string): number {
  const [, sign, hours = "0", minutes = "0", seconds = "0"] = form.exec(text) ?? []
  const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === "-" ? -ms : ms
}

/** By its IANA name. Throws for a name that this host does not know. */
export const timeZone: (name: string) => TimeZone = memo((name) => {
  // The one that every host knows, whatever it was built with.
  if (name === "UTC") return new TimeZone(() => 0)
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" })
    return new TimeZone((at) => offsetIn(format.format(at)))
  } catch (error) {
    throw new PerdureError("BAD_SCHEDULE", `time zone ${String(JSON.stringify(name))} is unknown here; give an IANA name such as "Europe/Berlin", or "UTC"`, {
      details: { timeZone: name },
      cause: error,
    })
  }
}, 200)
