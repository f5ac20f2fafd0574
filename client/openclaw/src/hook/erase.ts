// Sessions that are deleted at the host, where the configuration wants them erased at the engine as well.

import type { SessionEndEvent } from "../host/types.ts";
import type { Runtime } from "../runtime.ts";

/** What an `erase` row holds. */
export interface StoredErasure {
  sessionId: string;
  sessionKey?: string;
}

/** Writes down that a session is to be erased; other ends of a session (`/new`, a restart) leave it stored. */
export function sessionEnded(runtime: Runtime, event: SessionEndEvent): void {
  if (event.reason !== "deleted") return;
  const { sessionId, sessionKey } = event;
  runtime.erase({ sessionId, ...(sessionKey === undefined ? {} : { sessionKey }) });
}
