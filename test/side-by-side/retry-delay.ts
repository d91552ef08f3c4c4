/** Before a step's second attempt, where its config names no delay: that of Cloudflare's local engine. */
export const retryDelayMs = 1_000
