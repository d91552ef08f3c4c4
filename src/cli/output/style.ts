import { createColors } from "picocolors"
import type { Status } from "../../core/journal/status.ts"
import type { Io, Sink } from "../io.ts"

export type Paint = (text: string) => string

/** Colours of a terminal, or none. */
export interface Style {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
  readonly blue: Paint
  readonly magenta: Paint
  readonly cyan: Paint
}

export function styleOf(isColourful: boolean): Style {
  const colors = createColors(isColourful)
  /** An empty text stays empty, without escape sequences. */
  const paint = (name: keyof Style): Paint => {
    return (text) => (text === "" ? "" : colors[name](text))
  }
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    blue: paint("blue"),
    magenta: paint("magenta"),
    cyan: paint("cyan"),
  }
}

/**
 * Output has colours on a terminal only. NO_COLOR switches them off. FORCE_COLOR switches them on for any output, or off if its value is "0" or "false".
 * picocolors decides this once for the process, but each call of the CLI brings its own environment and output.
 */
export function isColourful(io: Pick<Io, "env">, sink: Sink): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = io.env
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false"
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false
  return sink.isTTY === true && TERM !== "dumb"
}

/** The colour that a status has everywhere. */
export function statusStyle(style: Style, status: Status): Paint {
  switch (status) {
    case "completed":
      return style.green
    case "failed":
    case "stalled":
      return style.red
    case "cancelled":
    case "terminated":
      return style.magenta
    case "running":
      return style.blue
    case "paused":
      return style.yellow
    case "queued":
    case "sleeping":
    case "waiting":
      return style.cyan
  }
}
