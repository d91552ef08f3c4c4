/** The figures of a sample, in the order of the tables. */
export interface PeerFigure {
  readonly workload: string
  readonly key: string
  readonly label: string
  readonly unit: string
  readonly better: "more" | "less"
  /** An engine may lack this figure. */
  readonly optional?: true
}

export const peerFigures: readonly PeerFigure[] = [
  { workload: "W1", key: "workflowsPerSecond", label: "instances a second", unit: "/s", better: "more" },
  { workload: "W2", key: "startP50Ms", label: "start to result, p50", unit: "ms", better: "less" },
  { workload: "W2", key: "startP99Ms", label: "start to result, p99", unit: "ms", better: "less" },
  { workload: "W3", key: "stepMs", label: "one step of a sequence", unit: "ms", better: "less" },
  { workload: "W4", key: "fanMs", label: "100 steps at once", unit: "ms", better: "less" },
  { workload: "W5", key: "eventMs", label: "event to result, p50", unit: "ms", better: "less" },
  { workload: "W5-process", key: "remoteEventMs", label: "event from another process to result, p50", unit: "ms", better: "less", optional: true },
  { workload: "W6", key: "residentMb", label: "memory of the process", unit: "MB", better: "less" },
  { workload: "W6", key: "serverMb", label: "memory of its own server", unit: "MB", better: "less", optional: true },
  { workload: "W7", key: "lateP99Ms", label: "lateness of a sleep, p99", unit: "ms", better: "less" },
]
