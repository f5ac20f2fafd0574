// Each message of the host's transcripts is in the engine's log exactly once.

import assert from "node:assert/strict";
import type { EngineProcess } from "./engine.ts";
import type { Gateway } from "./gateway.ts";
import { until } from "./wait.ts";

/** Waits until every session of the host is stored, message by message; fails with what differs. */
export async function everySessionIsStoredOnce(engine: EngineProcess, gateway: Gateway): Promise<void> {
  let last: object = {};
  const ids = gateway.sessionIds();
  assert.ok(ids.length > 0, "the host stored no session");
  await until("every session is stored", async () => {
    const reports = await Promise.all(ids.map(async (id) => [id, await engine.audit(gateway.store, id).catch(String)] as const));
    const bad = reports.filter(([, report]) => typeof report === "string" || !report.ok);
    last = Object.fromEntries(bad);
    return bad.length === 0;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}: ${JSON.stringify(last, null, 1).slice(0, 4000)}`);
  });
}
