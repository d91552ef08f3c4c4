import { becomeLaterVersion } from "../later-migration.ts"

// A process of the command line that imports this module first has a later version of perdure.
becomeLaterVersion()
