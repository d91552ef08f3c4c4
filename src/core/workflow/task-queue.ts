/** The task queue of whoever names none. */
export const defaultQueue = "default"

/** As instances have it: the default one is not written down. */
export function storedQueue(queue: string | undefined): { readonly queue?: string } | undefined {
  return queue === undefined || queue === defaultQueue ? undefined : { queue }
}
