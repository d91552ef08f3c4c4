import { createWorkflowRunner } from "perdure/cloudflare"
import { silentLogger } from "../../src/hosts/silent-logger.ts"
import { processOrder, Shop, square, squareOf, sumOfSquares } from "../activities-programs.ts"

export const ActivitiesRunner = createWorkflowRunner({
  workflows: [processOrder, sumOfSquares, squareOf],
  activities: [...new Shop().activities, square],
  binding: "ACTIVITIES_RUNNER",
  log: silentLogger,
})
