// Engines that fail and hosts that die: the turn is answered all the same, and no thread is gone on with of which
// nobody knows what it shows.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CodexHost, type CodexTurn } from "../harness/codex.ts";
import { MockResponses, textOf } from "../harness/mock_responses.ts";
import { scratch } from "../harness/paths.ts";
import { ProjectingEngine } from "../harness/projecting_engine.ts";
import { until } from "../harness/wait.ts";

const folder = scratch("faults");
const model = new MockResponses();
const engine = new ProjectingEngine(join(folder, "engine.sock"));
let host: CodexHost;
let last: CodexTurn;

before(async () => {
  await engine.start();
  // Codex compacts by itself once a request was this large.
  const config = ["model_auto_compact_token_limit = 50000"];
  host = new CodexHost({ folder, modelPort: await model.listen(), target: engine.target, config });
  host.start();
});

after(async () => {
  await host?.stop();
  engine.stop();
  model.close();
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const shown = (text: string): number => model.last.input.filter((item) => textOf(item).includes(text)).length;

test("R10.4: without a thread, what stands in for the engine is shown and nothing is bound", async () => {
  engine.fail();
  const first = await host.say("turn one [[say:first answer]]");
  assert.deepEqual([first.served_by, first.mode, first.epoch], ["in-process", "per_turn", null]);
  assert.match(first.engine_problem, /ENGINE_FAILURE/);
  const second = await host.say("turn two");
  assert.notEqual(second.thread_id, first.thread_id);
  const answers = model.last.input.filter((item) => item.role === "assistant").map(textOf);
  assert.deepEqual(answers, ["first answer"], "the host's own list");
  engine.show({ epoch: "e1", summary: "SUMMARY-E1" });
  await host.stop();
  host.start();
  last = await host.say("turn three");
  assert.equal(last.reason, "missing-thread-binding");
  assert.equal(last.served_by, "scripted");
  assert.equal(shown("SUMMARY-E1"), 1);
});

test("R10.4: a bound thread goes on without its engine, and with it afterwards", async () => {
  engine.fail();
  const without = await host.say("turn four");
  assert.deepEqual([without.thread_id, without.projected], [last.thread_id, false]);
  assert.match(without.engine_problem, /ENGINE_FAILURE/);
  engine.show({ epoch: "e1", summary: "SUMMARY-E1" });
  await host.stop();
  host.start();
  const again = await host.say("turn five");
  assert.equal(again.reason, "matching-thread-bootstrap-binding");
  assert.equal(again.thread_id, last.thread_id);
  assert.equal(shown("SUMMARY-E1"), 1);
});

test("an engine that is away, and back", async () => {
  engine.stop();
  const away = await host.say("turn six");
  assert.deepEqual([away.thread_id, away.served_by], [last.thread_id, "in-process"]);
  await engine.start();
  await host.stop();
  host.start();
  const back = await host.say("turn seven");
  assert.deepEqual([back.thread_id, back.served_by, back.engine_problem], [last.thread_id, "scripted", ""]);
});

test("R10.3: a host killed between the injection and its acknowledgement begins another thread", async () => {
  engine.show({ epoch: "e2", summary: "SUMMARY-E2" });
  await host.killAt("thread/inject_items", "turn eight");
  const threads = host.count("thread/start");
  host.start();
  const turn = await host.say("turn nine");
  assert.equal(host.count("thread/start"), threads + 1);
  assert.deepEqual([turn.is_new_thread, turn.projected, turn.epoch], [true, true, "e2"]);
  assert.equal(shown("SUMMARY-E2"), 1);
  assert.equal(shown("turn eight"), 0, "the engine decides what of the log is shown");
  last = turn;
});

test("Codex does not outlive a host that is killed, and a host does not miss a Codex that ends", async () => {
  const killed = host.pid;
  await host.kill();
  await until("Codex is gone", () => !isRunning(killed));
  host.start();
  last = await host.say("turn nine and a half");
  const ended = host.pid;
  process.kill(ended, "SIGKILL");
  await until("Codex is gone", () => !isRunning(ended));
  const turn = (await host.ask("turn nine and three quarters")) as CodexTurn;
  // The host may notice it with this turn only.
  const next = turn.status === "completed" ? turn : await host.say("again");
  assert.deepEqual([next.thread_id, next.projected], [last.thread_id, false]);
  assert.notEqual(host.pid, ended);
});

test("a host killed in the middle of a turn goes on with its thread", async () => {
  host.send("turn ten [[wait:ten]]");
  await model.arrived("ten");
  await host.kill();
  model.release("ten");
  host.start();
  const turn = await host.say("turn eleven");
  assert.deepEqual([turn.thread_id, turn.reason], [last.thread_id, "matching-thread-bootstrap-binding"]);
  assert.equal(shown("SUMMARY-E2"), 1);
});

test("a turn that the model fails is told, and the next one goes on", async () => {
  const failed = (await host.ask("turn twelve [[status:500]]")) as CodexTurn & { problem: string };
  assert.equal(failed.status, "failed");
  assert.notEqual(failed.problem, "");
  const turn = await host.say("turn thirteen");
  assert.equal(turn.thread_id, last.thread_id);
});

test("after a compaction of Codex the context is injected into another thread", async () => {
  const done = (await host.ask("/compact native")) as { compacted: boolean; by: string };
  assert.deepEqual([done.compacted, done.by], [true, "Codex"]);
  const turn = await host.say("turn fourteen");
  assert.equal(turn.reason, "missing-projection-binding");
  assert.deepEqual([turn.is_new_thread, turn.projected], [true, true]);
  assert.equal(shown("SUMMARY-E2"), 1);
  last = turn;
});

test("a compaction of Codex that the host did not live to hear of", async () => {
  model.inputTokens = 55_000;
  await host.say("a large one");
  model.inputTokens = undefined;
  host.send("turn fifteen [[wait:fifteen]]");
  await model.arrived("fifteen");
  await host.kill();
  model.release("fifteen");
  host.start();
  const turn = await host.say("turn sixteen");
  assert.equal(turn.reason, "missing-projection-binding");
  assert.deepEqual([turn.is_new_thread, turn.projected], [true, true]);
  last = turn;
});

test("what Codex asks permission for is declined, or allowed", async () => {
  const touch = (name: string): string => `run it [[tool:exec_command {"cmd":"touch ${join(folder, name)}"}]] [[say:done]]`;
  await host.stop();
  host.start("--approval-policy", "untrusted", "--sandbox", "danger-full-access");
  assert.equal((await host.say(touch("declined"))).tool_calls, 1);
  assert.equal(existsSync(join(folder, "declined")), false);
  assert.match(JSON.stringify(model.last.input.findLast((item) => item.type === "function_call_output")), /rejected by user/);
  await host.stop();
  host.start("--approval-policy", "untrusted", "--sandbox", "danger-full-access", "--approvals", "accept");
  await host.say(touch("allowed"));
  assert.equal(existsSync(join(folder, "allowed")), true);
});

test("R10.4: a host that wants it so leaves a thread whose engine failed", async () => {
  await host.stop();
  host.start("--on-projection-failure", "rotate");
  const bound = await host.say("turn seventeen");
  assert.equal(bound.thread_id, last.thread_id);
  engine.fail();
  await host.say("turn eighteen");
  engine.show({ epoch: "e2", summary: "SUMMARY-E2" });
  await host.stop();
  host.start("--on-projection-failure", "rotate");
  const turn = await host.say("turn nineteen");
  assert.deepEqual([turn.is_new_thread, turn.projected], [true, true]);
  last = turn;
});

test("the context as quoted text, and a host killed before the thread had it", async () => {
  engine.show({ epoch: "e3", summary: "SUMMARY-E3" });
  await host.stop();
  host.start("--inject", "text");
  await host.killAt("turn/start", "turn twenty");
  host.start("--inject", "text");
  const turn = await host.say("turn twenty-one");
  assert.deepEqual([turn.is_new_thread, turn.epoch], [true, "e3"]);
  const prompt = textOf(model.last.input.findLast((item) => item.role === "user") ?? {});
  assert.match(prompt, /quoted reference data[\s\S]*SUMMARY-E3[\s\S]*Current user request:\nturn twenty-one$/);
  const next = await host.say("turn twenty-two");
  assert.equal(next.thread_id, turn.thread_id);
  assert.equal(shown("SUMMARY-E3"), 1);
});
