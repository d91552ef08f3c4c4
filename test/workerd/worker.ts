import { DurableObject } from "cloudflare:workers"

export { ActivitiesRunner } from "./activities-runner.ts"
export { ApartRunner } from "./apart-runner.ts"
export { DialectRunner } from "./dialect-runner.ts"
export { FaultyRunner } from "./faulty-runner.ts"
export { BedRunner } from "./object-bed.ts"
export { WorkflowRunner } from "./sample-runner.ts"
export { FlowRunner } from "./flow-runner.ts"
export { ShardRunner } from "./shard-runner.ts"
export { TroubleRunner } from "./trouble-runner.ts"

/** An object with storage only, for tests below the workflow runner. */
export class BareObject extends DurableObject {}

export default { fetch: (): Response => new Response("only for tests") }
