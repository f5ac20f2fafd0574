import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommitParams } from "../src/host/types.ts";
import { pairs } from "../src/outbox/lineage.ts";
import type { Place } from "./place.ts";
import { SESSION, place, until, user } from "./place.ts";

/** A turn of the host, from one entry to another. */
function commit(at: Place, from: number, to: number, key = `turn-${from}`): CommitParams {
  const anchor = (place: number) => ({
    agentId: "main",
    sessionId: SESSION.sessionId,
    sessionKey: SESSION.sessionKey,
    storePath: "store",
    generation: "g",
    entryId: at.host.entries[place]?.entryId ?? "",
    rawSeq: place,
    effectiveParentId: null,
    activeMessagePosition: place,
  });
  const admission = { ...anchor(from), logicalTurnId: key, role: "user" };
  return { ...SESSION, advancementKey: key, admission, terminal: anchor(to), messages: [] };
}

const idsOf = (request: Record<string, unknown> | undefined): string[] =>
  (request?.["messages"] as { entryId: string }[] | undefined)?.map((message) => message.entryId) ?? [];

test("r2_3 a commit carries the entries between its anchors as the log has them", async (t) => {
  const at = await place(t);
  for (const role of ["user", "assistant", "user", "toolResult", "assistant"]) at.host.add(role, role);
  const runtime = at.runtime();
  assert.deepEqual(await at.turn(runtime).commitTurn(commit(at, 2, 4)), { status: "committed" });
  const sent = await until(() => at.engine.of("CommitTurn")[0]);
  assert.deepEqual(idsOf(sent), ["e2", "e3", "e4"]);
  await until(() => runtime.outbox.counts().waiting === 0);
});

test("a turn is committed while the engine is away, and outlives the host's process", async (t) => {
  const at = await place(t);
  at.engine.stop();
  at.host.add("user", "a");
  at.host.add("assistant", "b");
  const first = at.runtime();
  assert.deepEqual(await at.turn(first).commitTurn(commit(at, 0, 1)), { status: "committed" });
  await until(() => first.outbox.counts().lastError);
  at.end(first);
  await at.engine.start();
  const second = at.runtime();
  second.start();
  const sent = await until(() => at.engine.of("CommitTurn")[0]);
  assert.equal(sent["advancementKey"], "turn-0");
  await until(() => second.outbox.counts().waiting === 0);
});

test("r7_11 what no later try can change is set aside, and holds nothing back", async (t) => {
  const at = await place(t, { act: { CommitTurn: { fail: "IDEMPOTENCY_CONFLICT", code: 6 } } });
  ["a", "b"].forEach((text) => at.host.add("user", text));
  const runtime = at.runtime();
  await at.turn(runtime).commitTurn(commit(at, 0, 0));
  await until(() => runtime.outbox.counts().aside === 1);
  at.engine.script = {};
  await at.turn(runtime).commitTurn(commit(at, 1, 1));
  await until(() => runtime.outbox.counts().waiting === 0);
  assert.equal(runtime.outbox.counts().aside, 1);
  assert.ok(at.host.warnings.some((line) => line.includes("set aside")));
});

test("turns of one session arrive in their order, other sessions do not wait for them", async (t) => {
  const at = await place(t, { act: { CommitTurn: { fail: "OVERLOADED", code: 14 } } });
  ["a", "b"].forEach((text) => at.host.add("user", text));
  const runtime = at.runtime();
  for (const place of [0, 1]) await at.turn(runtime).commitTurn(commit(at, place, place));
  await until(() => runtime.outbox.counts().lastError);
  assert.equal(runtime.outbox.heads().length, 1, "the second waits for the first");
  at.engine.script = {};
  await until(() => runtime.outbox.counts().waiting === 0);
  const keys = at.engine.of("CommitTurn").map((request) => request["advancementKey"]);
  assert.deepEqual(keys.slice(-2), ["turn-0", "turn-1"]);
});

test("an engine without CommitTurn is not sent any", async (t) => {
  const at = await place(t, { methods: ["Describe", "Ingest", "Assemble", "Compact"] });
  at.host.add("user", "a");
  const runtime = at.runtime();
  await at.turn(runtime).assemble({ ...SESSION, messages: [], prompt: "a" });
  assert.deepEqual(await at.turn(runtime).commitTurn(commit(at, 0, 0)), { status: "committed" });
  assert.deepEqual(runtime.outbox.counts(), { waiting: 0, aside: 0 });
});

test("trap 9, r3_1: what the host pruned or merged stays out of the store: the log is the host's transcript, the view what it shows: an assembly names the one and carries the other", async (t) => {
  const at = await place(t);
  ["a", "b", "c", "d"].forEach((text) => at.host.add("user", text));
  const runtime = at.runtime();
  await at.turn(runtime).assemble({ ...SESSION, messages: [user("merged")], prompt: "now" });
  const [start] = at.engine.of("Assemble");
  const call = start?.["call"] as { logHead?: { count: bigint } };
  assert.equal(call.logHead?.count, 4n);
  assert.equal((start?.["transcript"] as { list: number }).list, 2);
});

test("what no hook brings reaches the engine after the turn: an announcement ends without a commit", async (t) => {
  const at = await place(t);
  at.host.add("user", "a");
  const runtime = at.runtime();
  const turn = at.turn(runtime);
  await turn.assemble({ ...SESSION, messages: [], prompt: "now" });
  at.host.add("assistant", "announcement");
  await turn.dispose();
  const start = await until(() => at.engine.of("Bootstrap")[0]);
  assert.equal(start["background"], true);
  assert.equal((start["call"] as { sessionSeq?: bigint }).sessionSeq, undefined);
  const { segments } = start["transcript"] as { segments: unknown[] };
  assert.equal(segments.length, 2);
});

test("while a turn runs, the host's fence is no failure of the log", async (t) => {
  const at = await place(t);
  ["a", "b", "c"].forEach((text) => at.host.add("user", text));
  const runtime = at.runtime();
  const session = runtime.sessions.get(SESSION.sessionId, SESSION);
  assert.ok(session.scope);
  assert.equal((await session.log.pump(session.scope))?.length, 3);
  at.host.fence = 1;
  assert.equal((await session.log.pump(session.scope))?.length, 3, "what is held stays");
  assert.deepEqual(at.host.warnings, []);
});

test("trap 14: a rewritten transcript is read anew, and a corrected entry keeps its identity", async (t) => {
  const at = await place(t);
  ["a", "b", "c", "d"].forEach((text) => at.host.add("user", text));
  const runtime = at.runtime();
  const session = runtime.sessions.get(SESSION.sessionId, SESSION);
  assert.ok(session.scope);
  await session.log.pump(session.scope);
  const before = session.log.natively();
  at.host.rewrite(2, "corrected");
  session.log.restart();
  await session.log.pump(session.scope);
  runtime.lineage.rewritten(session.id, before, session.log.natively());
  session.log.restart();
  const list = await session.log.pump(session.scope);
  assert.deepEqual(list?.items.map((item) => item.entryId), ["e0", "e1", "e2", "e3"]);
  assert.equal((list?.items[2]?.source as { content: string }).content, "corrected");
  assert.equal(session.log.nativeOf("e3"), "e3'", "and is known to the host by its new id");
});

test("a host that drops a repeated message when it re-appends shifts nothing", () => {
  const entry = (id: string, timestamp: number) => ({ id, role: "user", timestamp });
  const found = pairs([entry("a", 1), entry("b", 2), entry("c", 3)], [entry("a", 1), entry("c2", 3)]);
  assert.deepEqual(found.map(([old, now]) => [old.id, now.id]), [["a", "a"], ["c", "c2"]]);
});

test("trap 13: without the host's transcript API turns go on, and the operator is told once", async (t) => {
  const at = await place(t);
  at.host.sdk.readTranscript = async () => {
    throw new Error("no such module");
  };
  const runtime = at.runtime();
  const need = { case: "needTranscript", value: { seq: 1, list: 1 } };
  const done = { case: "result", value: { outcome: { case: "messages", value: {} } } };
  at.engine.script = { act: { Assemble: { frames: [need] }, "Assemble.transcript": { frames: [done] } } };
  await at.turn(runtime).assemble({ ...SESSION, messages: [], prompt: "a" });
  assert.equal(runtime.servedBy, "engine");
  assert.equal(at.engine.of("Assemble.transcript")[0]?.["unavailable"], true, "an unread log is not an empty one");
  await at.turn(runtime).bootstrap({ ...SESSION });
  assert.equal(at.engine.of("Bootstrap").length, 0);
});
