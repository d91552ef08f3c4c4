export const openworkflowRemarks = [
  "its handles look for a result once a second, which cannot be set; here the row of the run is read every `resultPollMs`, for a few runs at a time, so that it is not judged by that",
  "its worker polls after 100 ms, up to 1 s when idle, which cannot be set",
] as const
