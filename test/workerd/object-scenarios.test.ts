// The scenarios of all stores, on real objects in virtual time: one object for each instance, really aborted and evicted.

import { shortStories, tellStories } from "./object-stories.ts"

tellStories(shortStories)
