import type { Route } from "../route-definition.ts"
import { withCloudflareDialect } from "../dialects/cloudflare-dialect.ts"
import { controlRoutes } from "./controls.ts"
import { eventRoutes, eventsOfWorkflow } from "./events.ts"
import { instanceRoutes, instancesOfWorkflow } from "./instances.ts"
import { limitRoutes } from "./limits.ts"
import { outcomeRoutes } from "./results.ts"
import { scheduleRoutes } from "./schedules.ts"
import { serviceRoutes } from "./service.ts"
import { streamRoutes } from "./streams.ts"
import { taskRoutes } from "./tasks.ts"

/** The routes that also exist below the workflow of the instance. */
const withLongForm: ReadonlySet<string> = new Set([
  "getInstance",
  "deleteInstance",
  "pauseInstance",
  "resumeInstance",
  "cancelInstance",
  "terminateInstance",
  "restartInstance",
  "forkInstance",
  "getHistory",
])

/** The same handler at another address. If the instance belongs to another workflow, the app answers 404. */
function longForm(route: Route): Route {
  return {
    ...route,
    path: route.path.replace("/workflows/:id", "/workflows/:workflow/instances/:id"),
    name: `${route.name}OfWorkflow`,
    tag: "instances of a workflow",
  }
}

const shortRoutes = [...instanceRoutes, ...controlRoutes, ...eventRoutes, ...outcomeRoutes, ...streamRoutes]

const longRoutes = [...instancesOfWorkflow, ...shortRoutes.filter(({ name }) => withLongForm.has(name)).map(longForm), ...eventsOfWorkflow]

/** A route with a fixed path comes before a route with a parameter at the same place. */
export const allRoutes: readonly Route[] = [
  ...serviceRoutes.map(withCloudflareDialect),
  ...shortRoutes,
  ...longRoutes.map(withCloudflareDialect),
  ...scheduleRoutes,
  ...limitRoutes,
  ...taskRoutes,
]
