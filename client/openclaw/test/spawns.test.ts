import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { status } from "@grpc/grpc-js";
import type { Place } from "./place.ts";
import { SESSION, place, until } from "./place.ts";

const PARAMS = { parentSessionKey: SESSION.sessionKey, childSessionKey: "agent:main:child", contextMode: "isolated" as const };

function journal(at: Place): DatabaseSync {
  return new DatabaseSync(join(at.folder, "state/contextwire.sqlite"));
}

/** As if another process had written what this one did. */
function madeBy(at: Place, pid: number): void {
  const db = journal(at);
  db.prepare("UPDATE spawns SET process = 'another', pid = ?").run(pid);
  db.close();
}

function journaled(at: Place): number {
  const db = journal(at);
  const count = Number(db.prepare("SELECT COUNT(*) AS n FROM spawns").get()?.["n"]);
  db.close();
  return count;
}

test("r9_3 a spawn is journaled before the engine is asked, and resolved after a crash", async (t) => {
  const at = await place(t, { act: { PrepareSubagentSpawn: { silent: true } } });
  const first = at.runtime();
  const asking = at.turn(first).prepareSubagentSpawn(PARAMS);
  await until(() => at.engine.of("PrepareSubagentSpawn")[0]);
  assert.equal(journaled(at), 1);
  // A crash: nothing that this process would still have done gets to the file.
  const gone = spawnSync(process.execPath, ["-e", ""]).pid;
  madeBy(at, gone);
  at.engine.script = {};
  const second = at.runtime();
  second.start();
  const resolved = await until(() => at.engine.of("ResolveSubagentSpawn")[0]);
  assert.equal(resolved["outcome"], 2, "as rolled back");
  assert.equal(resolved["spawnId"], at.engine.of("PrepareSubagentSpawn")[0]?.["spawnId"]);
  assert.equal(journaled(at), 0);
  await asking;
});

test("r9_3 a spawn of a process that still runs is left to it", async (t) => {
  const at = await place(t);
  const first = at.runtime();
  const turn = at.turn(first);
  await turn.prepareSubagentSpawn(PARAMS);
  madeBy(at, process.ppid);
  at.runtime().start();
  assert.equal(journaled(at), 1);
  await turn.dispose();
  const resolved = await until(() => at.engine.of("ResolveSubagentSpawn")[0]);
  assert.equal(resolved["outcome"], 1, "as started");
});

test("r9_3 a spawn of an earlier process with this one's number is resolved", async (t) => {
  const at = await place(t);
  await at.turn(at.runtime()).prepareSubagentSpawn(PARAMS);
  madeBy(at, process.pid);
  at.runtime().start();
  await until(() => at.engine.of("ResolveSubagentSpawn")[0]);
});

test("r9_3 a process that is told to stop rolls nothing back", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  await at.turn(runtime).prepareSubagentSpawn(PARAMS);
  runtime.pause();
  at.end(runtime);
  assert.equal(journaled(at), 1);
  assert.equal(at.engine.of("ResolveSubagentSpawn").length, 0);
});

test("r9_3 what the engine did not prepare, or was never asked for, leaves no row", async (t) => {
  const at = await place(t, { act: { PrepareSubagentSpawn: { answer: { prepared: false } } } });
  const runtime = at.runtime();
  assert.equal(await at.turn(runtime).prepareSubagentSpawn(PARAMS), undefined);
  at.engine.script = { act: { PrepareSubagentSpawn: { fail: "ENGINE_FAILURE" } } };
  await assert.rejects(at.turn(runtime).prepareSubagentSpawn(PARAMS));
  await until(() => at.engine.of("ResolveSubagentSpawn")[0]);
  assert.equal(journaled(at), 0);
});

test("r7_2 what was done too late is not used: its successor session is refused, and the log is named", async (t) => {
  const at = await place(t, { ownsCompaction: true, act: { Compact: { fail: "INVALID_REQUEST", code: status.INVALID_ARGUMENT } } });
  const runtime = at.runtime();
  await at.turn(runtime).compact({ ...SESSION });
  const [abandoned] = at.engine.of("Compact").map((start) => (start["call"] as { hookId: string }).hookId);
  const late = [{ hookId: abandoned, method: "Compact", sessionTarget: { sessionId: "successor" } }];
  at.engine.script = { ownsCompaction: true, act: { Maintain: { answer: { reply: { late } } } } };
  await at.turn(runtime).maintain({ ...SESSION });
  const result = { tokensBefore: 9n, sessionId: "successor" };
  at.engine.script = { ownsCompaction: true, act: { Compact: { answer: { ok: true, compacted: true, result } } } };
  const done = await at.turn(runtime).compact({ ...SESSION });
  assert.equal(done.compacted, false);
  assert.equal(done.result, undefined);
  const call = at.engine.of("Compact").at(-1)?.["call"] as { logHead?: { count: bigint }; abandonedHooks: string[] };
  assert.equal(call.logHead?.count, 0n, "an empty log is named as well");
  assert.deepEqual(call.abandonedHooks, []);
  assert.ok(at.host.warnings.some((line) => line.includes("gave up")));
});
