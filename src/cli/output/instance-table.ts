import { defaultQueue } from "../../core/workflow/task-queue.ts"
import type { InstanceSummary } from "../../client-api/client-api.ts"
import type { Invocation } from "../invocation.ts"
import { relativeTime, shortTime } from "./clock.ts"
import { statusStyle } from "./style.ts"
import { table } from "./table.ts"

export function instanceTable(instances: readonly InstanceSummary[], { style, width, io }: Invocation): string {
  if (instances.length === 0) return "no instances\n"
  const now = io.now()
  return table(
    instances,
    [
      { title: "ID", text: ({ id }) => id, widthMin: 12 },
      { title: "WORKFLOW", text: ({ workflow, version }) => `${workflow}@${version}`, widthMin: 8 },
      {
        title: "STATUS",
        text: ({ status, phase }) => (phase === undefined ? status : `${status} (${phase})`),
        paint: ({ status }) => statusStyle(style, status),
      },
      { title: "RUN", text: ({ run }) => (run === 1 ? "" : String(run)), align: "right", optional: true },
      { title: "CREATED", text: ({ createdAt }) => shortTime(createdAt, now), spare: true },
      { title: "UPDATED", text: ({ updatedAt }) => relativeTime(updatedAt, now), paint: () => style.dim, spare: true },
      { title: "QUEUE", text: ({ queue }) => (queue === defaultQueue ? "" : queue), widthMin: 6, optional: true, spare: true },
      { title: "TAGS", text: ({ tags }) => tags.join(", "), widthMin: 6, optional: true, spare: true },
    ],
    { width, style },
  )
}
