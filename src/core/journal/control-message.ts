/** Messages that steer an instance: they reach it also while it is paused or stalled. Others wait until it goes on. */
const controls = ["pause", "resume", "cancel", "terminate"] as const

export type ControlKind = (typeof controls)[number]

export function isControl(kind: string): kind is ControlKind {
  return (controls as readonly string[]).includes(kind)
}
