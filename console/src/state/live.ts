/** openLive begins to follow what others change. */
export function openLive() {}

export function closeLive() {}
