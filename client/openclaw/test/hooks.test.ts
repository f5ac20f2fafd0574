import assert from "node:assert/strict";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { SESSION, place, until, user } from "./place.ts";

const insert = (payload: object) => ({ kind: { case: "insert", value: { payload: Buffer.from(JSON.stringify(payload)) } } });
const messages = (value: object) => ({ answer: { outcome: { case: "messages", value } } });

test("an assembly that the engine passes through is the host's own list", async (t) => {
  const at = await place(t);
  const list = [user("a"), user("b", 2)];
  const answer = await at.turn(at.runtime()).assemble({ ...SESSION, messages: list, prompt: "now", tokenBudget: 5000 });
  assert.equal(answer.messages, list);
  assert.ok(answer.estimatedTokens > 0);
  assert.equal(answer.promptAuthority, undefined);
});

test("trap 7: what the engine changed is a new list, with the host's own objects in it", async (t) => {
  const segments = [insert({ role: "user", content: "so far" }), { kind: { case: "keep", value: { start: 1n, count: 1n } } }];
  const at = await place(t, { act: { Assemble: messages({ segments, systemPromptAddition: "add" }) } });
  const list = [user("a"), user("b", 2)];
  const answer = await at.turn(at.runtime()).assemble({ ...SESSION, messages: list, prompt: "now" });
  assert.notEqual(answer.messages, list);
  assert.deepEqual(answer.messages[0], { role: "user", content: "so far" });
  assert.equal(answer.messages[1], list[1]);
  assert.equal(answer.systemPromptAddition, "add");
});

test("trap 6: the engine is told whether the list holds the current turn", async (t) => {
  const at = await place(t);
  const turn = at.turn(at.runtime());
  await turn.assemble({ ...SESSION, messages: [user("before")], prompt: "now" });
  await turn.assemble({ ...SESSION, messages: [user("before"), user("now", 2)], prompt: "now" });
  await turn.assemble({ ...SESSION, messages: [user("before")] });
  const seen = at.engine.of("Assemble").map((start) => [start["currentTurn"], start["site"]]);
  assert.deepEqual(seen, [[1, 1], [2, 1], [1, 2]]);
});

test("a set of tools travels as a list, and what is undefined not at all", async (t) => {
  const at = await place(t);
  const params = { ...SESSION, messages: [user("a")], availableTools: new Set(["ls", "read"]), model: undefined as never };
  await at.turn(at.runtime()).assemble(params);
  const [start] = at.engine.of("Assemble");
  assert.deepEqual((start?.["availableTools"] as { names: string[] }).names, ["ls", "read"]);
  assert.equal(start?.["model"], undefined);
});

test("r7_13 an engine that is not there costs nothing but its advice", async (t) => {
  const at = await place(t);
  at.engine.stop();
  const runtime = at.runtime();
  const list = [user("a")];
  const answer = await at.turn(runtime).assemble({ ...SESSION, messages: list, prompt: "now", tokenBudget: 5000 });
  assert.notEqual(answer.messages, list);
  assert.deepEqual(answer.messages, list);
  assert.equal(answer.promptAuthority, "preassembly_may_overflow");
  assert.match(runtime.servedBy, /this process/);
});

test("an engine that keeps silent is not waited for beyond the deadline", async (t) => {
  const at = await place(t, { act: { Assemble: { silent: true } } }, { assembleDeadlineMs: 300 });
  const answer = await at.turn(at.runtime()).assemble({ ...SESSION, messages: [user("a")], prompt: "now" });
  assert.equal(answer.promptAuthority, "preassembly_may_overflow");
  await until(() => at.engine.of("Assemble.cancel")[0]);
});

test("r7_4 the rest of a turn is served here once an assembly of it failed", async (t) => {
  const at = await place(t, { act: { Assemble: { fail: "ENGINE_FAILURE" } } });
  const runtime = at.runtime();
  const turn = at.turn(runtime);
  await turn.assemble({ ...SESSION, messages: [user("a")], prompt: "now" });
  at.engine.script = {};
  await turn.assemble({ ...SESSION, messages: [user("a")] });
  assert.equal(at.engine.of("Assemble").length, 1);
  await at.turn(runtime).assemble({ ...SESSION, messages: [user("a")], prompt: "next" });
  assert.equal(runtime.servedBy, "engine");
});

test("trap 4 and 11: an owning engine's last good answer stays, within the budget and never as a projection", async (t) => {
  const projection = { mode: 2, epoch: "e1" };
  const segments = [insert({ role: "user", content: "SUMMARY" }), { kind: { case: "keep", value: { start: 1n, count: 1n } } }];
  const at = await place(t, { ownsCompaction: true, act: { Assemble: messages({ segments, contextProjection: projection }) } });
  const runtime = at.runtime();
  const list = [{ ...user("long ago ".repeat(500)), timestamp: 1 }, user("b", 2)];
  const good = await at.turn(runtime).assemble({ ...SESSION, messages: list, prompt: "now", tokenBudget: 2000 });
  assert.deepEqual(good.contextProjection, { mode: "thread_bootstrap", epoch: "e1" });
  at.engine.script = { ownsCompaction: true, act: { Assemble: { fail: "ENGINE_FAILURE" } } };
  const next = [...list, { role: "assistant", content: [], timestamp: 3 }, user("d", 4)];
  const answer = await at.turn(runtime).assemble({ ...SESSION, messages: next, prompt: "now", tokenBudget: 2000 });
  assert.deepEqual(answer.messages, [{ role: "user", content: "SUMMARY" }, next[1], next[2], next[3]]);
  assert.equal(answer.contextProjection, undefined);
  assert.equal(answer.promptAuthority, "preassembly_may_overflow");
});

test("the host's memory guidance is there whoever answers", async (t) => {
  const at = await place(t);
  at.host.memory = "MEMORY RULES";
  const runtime = at.runtime();
  const params = { ...SESSION, messages: [user("a")], prompt: "now", availableTools: new Set(["memory"]) };
  const answer = await at.turn(runtime).assemble(params);
  assert.equal(answer.systemPromptAddition, "MEMORY RULES");
  assert.equal(at.engine.of("Assemble")[0]?.["memoryPrompt"], "MEMORY RULES");
  at.engine.stop();
  assert.equal((await at.turn(runtime).assemble(params)).systemPromptAddition, "MEMORY RULES");
});

test("trap 2: a compaction that fails for a while is answered, and by the host's own where it may", async (t) => {
  const at = await place(t, { act: { Compact: { fail: "DEPENDENCY_UNAVAILABLE", code: status.UNAVAILABLE } } });
  const runtime = at.runtime();
  const done = await at.turn(runtime).compact({ ...SESSION, force: true });
  assert.equal(done.compacted, true, "the host's own compaction did it");
  assert.equal(at.host.delegated.length, 1);
});

test("trap 2: where nobody may compact instead, the answer says why", async (t) => {
  const at = await place(t, { ownsCompaction: true });
  at.engine.stop();
  const done = await at.turn(at.runtime()).compact({ ...SESSION });
  assert.deepEqual([done.ok, done.compacted], [false, false]);
  assert.match(done.reason ?? "", /did not compact: UNREACHABLE/);
  assert.equal(at.host.delegated.length, 0);
});

test("r1_2 an engine that leaves compaction to the host without asking gets the host's", async (t) => {
  const at = await place(t, { act: { Compact: { answer: { ok: false, reason: "left to the host" } } } });
  assert.equal((await at.turn(at.runtime()).compact({ ...SESSION })).compacted, true);
  const owning = await place(t, { ownsCompaction: true, act: { Compact: { answer: { ok: false, reason: "no need" } } } });
  assert.equal((await owning.turn(owning.runtime()).compact({ ...SESSION })).reason, "no need");
  assert.equal(owning.host.delegated.length, 0);
});

test("the engine's own failure of a compaction is the host's to know", async (t) => {
  const at = await place(t, { act: { Compact: { fail: "ENGINE_FAILURE" } } });
  await assert.rejects(at.turn(at.runtime()).compact({ ...SESSION }), /ENGINE_FAILURE/);
});

test("r1_7 a delegated compaction runs in the host, once, with the host's own parameters", async (t) => {
  const call = { callId: "c1", timeoutMs: 1000n, call: { case: "delegateCompaction", value: { force: true } } };
  const at = await place(t, { act: { Compact: { frames: [{ case: "hostCall", value: call }, { case: "hostCall", value: call }] } } });
  const running = at.turn(at.runtime()).compact({ ...SESSION, runtimeContext: { config: { secret: 1 } } });
  const answered = await until(() => (at.engine.of("Compact.hostCallResult").length === 2 ? at.engine.of("Compact.hostCallResult") : false));
  assert.equal(at.host.delegated.length, 1, "the same call is remembered");
  assert.deepEqual(at.host.delegated[0]?.runtimeContext, { config: { secret: 1 } });
  assert.equal((answered[0]?.["outcome"] as { case: string }).case, "delegateCompaction");
  at.engine.stop();
  assert.equal((await running).compacted, true, "what the host's compaction did stands, whatever becomes of the engine");
});

test("r1_6 a model call back has its answer on the hook's stream", async (t) => {
  const asked = { case: "llmComplete", value: { messages: [{ role: "user", content: "sum up" }] } };
  const call = { callId: "c1", timeoutMs: 1000n, call: asked };
  const at = await place(t, { act: { Maintain: { frames: [{ case: "hostCall", value: call }] } } });
  const llm = { complete: async () => ({ text: "summary", provider: "p", model: "m", usage: { inputTokens: 3 } }) };
  const abort = new AbortController();
  const running = at.turn(at.runtime()).maintain({ ...SESSION, runtimeContext: { llm }, abortSignal: abort.signal });
  const [result] = await until(() => (at.engine.of("Maintain.hostCallResult").length > 0 ? at.engine.of("Maintain.hostCallResult") : false));
  const outcome = result?.["outcome"] as { case: string; value: { text: string } };
  assert.equal(outcome.value.text, "summary");
  abort.abort();
  await assert.rejects(running, /abort/i);
  await until(() => at.engine.of("Maintain.cancel")[0]);
});

test("r1_5 the caller's abort is told to the engine in band, and counts nowhere", async (t) => {
  const at = await place(t, { act: { Compact: { silent: true } } });
  const runtime = at.runtime();
  const abort = new AbortController();
  const running = at.turn(runtime).compact({ ...SESSION, abortSignal: abort.signal });
  await until(() => at.engine.of("Compact")[0]);
  abort.abort();
  await assert.rejects(running, /abort/i);
  const cancel = await until(() => at.engine.of("Compact.cancel")[0]);
  assert.equal(cancel["reason"], 1);
  assert.equal(runtime.engine.breaker.report(Date.now()).state, "closed");
  assert.equal(at.host.delegated.length, 0);
});

test("r7_2 an abandoned hook is named until the engine knows of it", async (t) => {
  const at = await place(t, { act: { Compact: { fail: "INVALID_REQUEST", code: status.INVALID_ARGUMENT } } });
  const runtime = at.runtime();
  await at.turn(runtime).compact({ ...SESSION });
  at.engine.script = {};
  const turn = at.turn(runtime);
  for (const prompt of ["a", "b"]) await turn.assemble({ ...SESSION, messages: [], prompt });
  const named = at.engine.of("Assemble").map((start) => (start["call"] as { abandonedHooks: string[] }).abandonedHooks.length);
  assert.deepEqual(named, [1, 0]);
});

test("r7_9 effects that somebody waits for are in an order, reads are not", async (t) => {
  const at = await place(t);
  const turn = at.turn(at.runtime());
  await turn.bootstrap({ ...SESSION });
  await turn.maintain({ ...SESSION });
  await turn.assemble({ ...SESSION, messages: [], prompt: "a" });
  const order = (method: string) => (at.engine.of(method)[0]?.["call"] as { sessionSeq?: bigint; hostEpoch: bigint }).sessionSeq;
  assert.deepEqual([order("Bootstrap"), order("Maintain"), order("Assemble")], [1n, 2n, undefined]);
});

test("maintenance says what went before it", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  const turn = at.turn(runtime);
  await turn.bootstrap({ ...SESSION });
  await turn.maintain({ ...SESSION });
  const other = at.turn(runtime);
  await other.compact({ ...SESSION });
  await other.maintain({ ...SESSION });
  assert.deepEqual(at.engine.of("Maintain").map((start) => start["reason"]), [1, 3]);
});

test("trap 8: an engine object that is dropped closes nothing", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  for (const prompt of ["a", "b", "c"]) {
    const turn = at.turn(runtime);
    await turn.assemble({ ...SESSION, messages: [], prompt });
    await turn.dispose();
  }
  assert.equal(at.engine.of("Describe").length, 1, "one connection, described once");
  assert.equal(at.engine.of("Dispose").length, 0);
});

test("trap 1, 3 and 5: before the engine was seen the configuration says what it is, and both semantics are declared", async (t) => {
  const at = await place(t, { ownsCompaction: false }, { engine: { ownsCompaction: true } });
  const runtime = at.runtime();
  const { info } = at.turn(runtime);
  assert.equal(info.ownsCompaction, true);
  assert.deepEqual(info.transcriptSemantics, {
    currentTurnFence: "before-current-turn-entry-v1",
    turnAdvancementIdempotency: "atomic-idempotent-v1",
  });
  assert.ok(!("acceptedHostParams" in info) && !("hostRequirements" in info));
  await at.turn(runtime).assemble({ ...SESSION, messages: [], prompt: "a" });
  assert.equal(at.turn(runtime).info.ownsCompaction, false);
  at.end(runtime);
  at.engine.stop();
  assert.equal(at.turn(at.runtime()).info.version, "scripted/1", "it is remembered over a restart");
});

test("a spawn is rolled back once, or started when nobody did", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  const params = { parentSessionKey: SESSION.sessionKey, childSessionKey: "agent:main:child", contextMode: "isolated" as const };
  const failed = at.turn(runtime);
  const handle = await failed.prepareSubagentSpawn(params);
  handle?.rollback();
  await until(() => at.engine.of("ResolveSubagentSpawn")[0] && runtime.outbox.counts().waiting === 0);
  handle?.rollback();
  await failed.dispose();
  const started = at.turn(runtime);
  await started.prepareSubagentSpawn(params);
  await started.dispose();
  await started.onSubagentEnded({ childSessionKey: params.childSessionKey, reason: "completed" });
  await until(() => at.engine.of("EndSubagent")[0]);
  assert.deepEqual(at.engine.of("ResolveSubagentSpawn").map((one) => one["outcome"]), [2, 1]);
});

test("trap 2: a spawn goes on unprepared while the engine is away", async (t) => {
  const at = await place(t);
  at.engine.stop();
  const params = { parentSessionKey: SESSION.sessionKey, childSessionKey: "agent:main:child", contextMode: "fork" as const };
  assert.equal(await at.turn(at.runtime()).prepareSubagentSpawn(params), undefined);
});
