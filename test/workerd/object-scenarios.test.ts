// The same stories as everywhere, told by real objects: one for each instance, dying and evicted for real, in virtual time.

import { shortStories, tellStories } from "./object-stories.ts"

tellStories(shortStories)
