/** So many messages of one inbox are read at once. */
export const inboxPartMax = 256
