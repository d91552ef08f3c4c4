/**
 * The kinds of a notification, by the letters that stand for them in its payload.
 *
 * A letter may be followed by an instance's id: then the notification is about that instance only.
 */
export const NotificationKind = {
  /** There may be something to claim or to read: for workers. */
  work: "w",
  /** Messages were delivered to the instance: for workers that have it in memory, or could claim it. A single message may be pushed itself (`PushedMessages`). */
  message: "m",
  /** The instance has ended, or any instance if there is no id: for callers that wait for a result. */
  ended: "e",
  /** Flow control has admitted the instance: for workers, which need to look for nothing else. */
  admitted: "l",
  /** An update was answered, or a run has ended. */
  updateAnswered: "a",
  /** A journal has grown. Sent only while some process follows the changes. */
  changed: "c",
  /** A process follows the changes. */
  followed: "f",
  /** There are new tasks: for processes that claim tasks. */
  tasks: "t",
  /** A process tests whether it receives its own notifications. Behind a pooler that lends connections for a transaction only, no process receives any. */
  selfTest: "p",
} as const

export type NotificationKind = (typeof NotificationKind)[keyof typeof NotificationKind]

/** What a process looks at when it may have missed notifications. */
export const everyKind: readonly NotificationKind[] = [
  NotificationKind.work,
  NotificationKind.ended,
  NotificationKind.updateAnswered,
  NotificationKind.changed,
  NotificationKind.tasks,
]
