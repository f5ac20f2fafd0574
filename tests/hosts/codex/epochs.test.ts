// A thread of Codex is told the context once an epoch: proved from what the model was sent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CodexHost, type CodexTurn } from "../harness/codex.ts";
import { type Item, MockResponses, textOf } from "../harness/mock_responses.ts";
import { scratch } from "../harness/paths.ts";
import { ProjectingEngine } from "../harness/projecting_engine.ts";

const folder = scratch("epochs");
const model = new MockResponses();
const engine = new ProjectingEngine(join(folder, "engine.sock"));
let host: CodexHost;
let last: CodexTurn;

before(async () => {
  engine.show({ epoch: "e1", summary: "SUMMARY-E1" });
  await engine.start();
  host = new CodexHost({ folder, modelPort: await model.listen(), target: engine.target });
  host.start();
});

after(async () => {
  await host?.stop();
  engine.stop();
  model.close();
});

/** How often the model sees a text in one request. */
const shown = (text: string): number => model.last.input.filter((item) => textOf(item).includes(text)).length;

async function staysInItsThread(prompt: string): Promise<void> {
  const turn = await host.say(prompt);
  assert.equal(turn.reason, "matching-thread-bootstrap-binding");
  assert.deepEqual([turn.is_new_thread, turn.projected, turn.thread_id], [false, false, last.thread_id]);
  last = turn;
}

async function beginsAThread(prompt: string, reason: string): Promise<void> {
  const turn = await host.say(prompt);
  assert.equal(turn.reason, reason);
  assert.deepEqual([turn.is_new_thread, turn.projected], [true, true]);
  assert.notEqual(turn.thread_id, last?.thread_id);
  last = turn;
}

test("three turns on one epoch: the context is sent once", async () => {
  await beginsAThread("turn one", "missing-thread-binding");
  assert.equal(last.epoch, "e1");
  assert.equal(shown("SUMMARY-E1"), 1);
  const first = engine.of("Assemble").at(-1);
  assert.equal(first?.["knownProjection"], undefined);

  engine.unchanged();
  await staysInItsThread("turn two");
  const known = engine.of("Assemble").at(-1)?.["knownProjection"] as { epoch: string } | undefined;
  assert.equal(known?.epoch, "e1", "the engine hears what the thread shows");
  engine.show({ epoch: "e1", summary: "SUMMARY-E1" });
  await staysInItsThread("turn three");

  assert.equal(host.count("thread/inject_items"), 1);
  assert.equal(host.count("thread/start"), 1);
  assert.equal(shown("SUMMARY-E1"), 1, "once, in the third request as well");
  const said = model.last.input.filter((item) => item.role === "user").map(textOf);
  assert.deepEqual(said.slice(-3), ["turn one", "turn two", "turn three"], "prompts go as they are");
});

test("the engine was told each turn once, by its commits", () => {
  const commits = engine.of("CommitTurn");
  assert.equal(commits.length, 3);
  assert.equal(new Set(commits.map((one) => one["advancementKey"])).size, 3);
});

test("another epoch, and another fingerprint: a new thread with the new context alone", async () => {
  engine.show({ epoch: "e2", summary: "SUMMARY-E2" });
  await beginsAThread("turn four", "projection-mismatch");
  assert.deepEqual([shown("SUMMARY-E1"), shown("SUMMARY-E2")], [0, 1]);
  engine.show({ epoch: "e2", fingerprint: "f2", summary: "SUMMARY-F2" });
  await beginsAThread("turn five", "projection-mismatch");
  assert.deepEqual([shown("SUMMARY-E2"), shown("SUMMARY-F2")], [0, 1]);
  await staysInItsThread("turn six");
});

test("R10.4: an engine that is upgraded while the host runs rotates nothing", async () => {
  await engine.upgrade("2");
  await staysInItsThread("turn seven");
  await host.stop();
  host.start();
  await staysInItsThread("turn eight");
  assert.equal(shown("SUMMARY-F2"), 1, "the thread was resumed by another process");
});

test("another way of projecting is another thread", async () => {
  engine.projectionVersion = "p2";
  await engine.upgrade("3");
  await host.stop();
  host.start();
  await beginsAThread("turn nine", "context-engine-binding-mismatch");
});

test("another budget is another thread", async () => {
  await host.stop();
  host.start("--budget", "30000");
  await beginsAThread("turn ten", "context-engine-binding-mismatch");
  await staysInItsThread("turn eleven");
});

test("other tools are another thread, and Codex calls them", async () => {
  const tools = join(folder, "tools.json");
  const inputSchema = { type: "object", properties: { word: { type: "string" } } };
  const command = ["sh", "-c", "echo \"heard $(cat)\""];
  writeFileSync(tools, JSON.stringify([{ name: "lookup", description: "looks a word up", inputSchema, command }]));
  await host.stop();
  host.start("--budget", "30000", "--tools", tools);
  await beginsAThread('turn twelve [[tool:lookup {"word":"owl"}]] [[say:looked up]]', "dynamic-tools-mismatch");
  assert.equal(last.answer, "looked up");
  const output = model.last.input.find((item: Item) => item.type === "function_call_output");
  assert.match(JSON.stringify(output), /heard .*owl/);
  const commit = engine.of("CommitTurn").at(-1);
  assert.equal((commit?.["messages"] as object[]).length, 4, "prompt, call, result and answer");
  await staysInItsThread("turn thirteen");
});

test("what the engine adds is a developer's message, sent when it changes", async () => {
  engine.show({ epoch: "e2", fingerprint: "f2", summary: "SUMMARY-F2", addition: "ADDITION-ONE" });
  await staysInItsThread("turn fourteen");
  await staysInItsThread("turn fifteen");
  assert.equal(shown("ADDITION-ONE"), 1);
  const sent = host.asked.filter(({ method }) => method === "turn/start").slice(-2);
  assert.deepEqual(sent.map(({ params }) => params["additionalContext"] !== undefined), [true, false]);
  const holds = model.last.input.find((item) => textOf(item).includes("ADDITION-ONE"));
  assert.equal(holds?.role, "developer");
});

test("an engine that projects with each turn is quoted in one thread", async () => {
  engine.show({ summary: "SUMMARY-TURN-16" });
  await beginsAThread("turn sixteen", "per-turn-projection");
  assert.equal(last.mode, "per_turn");
  engine.show({ summary: "SUMMARY-TURN-17" });
  const turn = await host.say("turn seventeen");
  assert.deepEqual([turn.is_new_thread, turn.projected, turn.thread_id], [false, true, last.thread_id]);
  const prompt = textOf(model.last.input.findLast((item) => item.role === "user") ?? {});
  assert.match(prompt, /<conversation_context>\n\[user\]\nSUMMARY-TURN-17\n<\/conversation_context>\n\nCurrent user request:\nturn seventeen$/);
});
