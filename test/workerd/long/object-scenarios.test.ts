import { otherStories, tellStories } from "../object-stories.ts"

tellStories(otherStories)
