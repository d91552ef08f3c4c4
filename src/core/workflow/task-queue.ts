/** The task queue of workers and instances that name none. */
export const defaultQueue = "default"

/** The field of an instance's row. The default queue is not stored. */
export function storedQueue(queue: string | undefined): { readonly queue?: string } | undefined {
  return queue === undefined || queue === defaultQueue ? undefined : { queue }
}
