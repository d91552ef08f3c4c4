// Single keys, as they are pressed. Enter must not print a line of its own into the picture, so the terminal's own handling of lines is off.

import type { ReadStream } from "node:tty"

export type Key = "enter" | "n" | "interrupt"

/** Returns the way to stop. */
export function onKey(input: ReadStream, listener: (key: Key) => void): () => void {
  const read = (data: Buffer) => {
    for (const character of data.toString()) {
      const key = keys.get(character)
      if (key !== undefined) listener(key)
    }
  }
  input.setRawMode(true)
  input.on("data", read)
  input.resume()
  return () => {
    input.off("data", read)
    input.setRawMode(false)
    input.pause()
  }
}

const keys = new Map<string, Key>([
  ["\r", "enter"],
  ["\n", "enter"],
  ["n", "n"],
  ["N", "n"],
  ["\u0003", "interrupt"],
  ["\u0004", "interrupt"],
])
