import type { Route } from "../route-definition.ts"
import { controlRoutes } from "./controls.ts"
import { eventRoutes, eventsOfWorkflow } from "./events.ts"
import { instanceRoutes, instancesOfWorkflow } from "./instances.ts"
import { limitRoutes } from "./limits.ts"
import { outcomeRoutes } from "./results.ts"
import { scheduleRoutes } from "./schedules.ts"
import { serviceRoutes } from "./service.ts"
import { streamRoutes } from "./streams.ts"

/** Those that also go through the workflow of the instance. */
const alsoLong: ReadonlySet<string> = new Set([
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

/** The same handler at another address: where the two do not belong together the answer is 404, which the app sees to. */
function longForm(route: Route): Route {
  return {
    ...route,
    path: route.path.replace("/workflows/:id", "/workflows/:workflow/instances/:id"),
    name: `${route.name}OfWorkflow`,
    tag: "instances of a workflow",
  }
}

const shortRoutes = [...instanceRoutes, ...controlRoutes, ...eventRoutes, ...outcomeRoutes, ...streamRoutes]

/** What has a fixed path comes before what has a parameter in its place. */
export const allRoutes: readonly Route[] = [
  ...serviceRoutes,
  ...shortRoutes,
  ...instancesOfWorkflow,
  ...shortRoutes.filter(({ name }) => alsoLong.has(name)).map(longForm),
  ...eventsOfWorkflow,
  ...scheduleRoutes,
  ...limitRoutes,
]
