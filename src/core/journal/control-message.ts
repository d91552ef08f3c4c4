/** The messages that control an instance. They take effect also while it is paused or stalled; other messages wait until it is resumed. */
const controls = ["pause", "resume", "cancel", "terminate"] as const

export type ControlKind = (typeof controls)[number]

export function isControl(kind: string): kind is ControlKind {
  return (controls as readonly string[]).includes(kind)
}
