import { flowStories, tellStories } from "../object-stories.ts"

tellStories(flowStories)
