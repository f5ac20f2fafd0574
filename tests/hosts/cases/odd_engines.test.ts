// Engines that are old, strict, wrong or failing: scripted ones, in this process.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { status } from "@grpc/grpc-js";
import { ScriptedEngine } from "../../../client/openclaw/test/scripted_engine.ts";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";
import { until } from "../harness/wait.ts";

const folder = scratch("odd");
const model = new MockModel();
const ledger = new EngineProcess(folder, "ledger");
const engine = new ScriptedEngine(ledger.socket);
let gateway: Gateway;

interface Status {
  servedBy: string;
  lastFailure?: { hook: string; code: string };
  outbox: { waiting: number; aside: number };
}

const statusNow = (): Promise<Status> => gateway.call<Status>("contextwire.status");

before(async () => {
  await engine.start();
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin: { target: engine.target } });
  await gateway.start();
});

beforeEach(() => {
  engine.script = {};
});

after(async () => {
  await gateway?.stop();
  engine.stop();
  await ledger.stop();
  model.close();
});

test("wrong answers are not shown to the model", async () => {
  await gateway.say("wrong", "one [[say:first]]");
  const nowhere = { kind: { case: "keep", value: { start: 5n, count: 90n } } };
  engine.script = { act: { Assemble: { answer: { outcome: { case: "messages", value: { segments: [nowhere] } } } } } };
  const { stdout } = await gateway.say("wrong", "two [[say:second]]");
  assert.ok(stdout.includes("second"));
  assert.ok(model.lastWith("two").raw.includes("one [[say:first]]"), "the host's own list was shown");
  const { servedBy, lastFailure } = await statusNow();
  assert.match(servedBy, /CONTRACT/);
  assert.equal(lastFailure?.hook, "Assemble");
});

test("what an engine invents is what the model sees", async () => {
  const payload = Buffer.from(JSON.stringify({ role: "user", content: "SUMMARY OF ALL BEFORE", timestamp: 1 }));
  const insert = { kind: { case: "insert", value: { payload, role: "user", synthetic: true } } };
  const value = { segments: [insert], estimatedTokens: 10n, systemPromptAddition: "ADDITION OF THE ENGINE" };
  engine.script = { act: { Assemble: { answer: { outcome: { case: "messages", value } } } } };
  await gateway.say("wrong", "three [[say:third]]");
  const seen = model.lastWith("three").raw;
  assert.ok(seen.includes("SUMMARY OF ALL BEFORE") && seen.includes("ADDITION OF THE ENGINE"));
  assert.ok(!seen.includes("one [[say:first]]"), "the history was replaced");
});

test("a commit that fails is brought again until it is taken", async () => {
  await until("the outbox is empty", async () => (await statusNow()).outbox.waiting === 0);
  engine.received.length = 0;
  engine.script = { act: { CommitTurn: { fail: "DEPENDENCY_UNAVAILABLE", code: status.UNAVAILABLE } } };
  const { code } = await gateway.say("commits", "one");
  assert.equal(code, 0);
  await until("the engine refused a commit", () => engine.of("CommitTurn").length > 0);
  assert.equal((await statusNow()).outbox.waiting >= 1, true);
  engine.script = {};
  await until("the outbox is empty", async () => (await statusNow()).outbox.waiting === 0);
  const keys = engine.of("CommitTurn").map((request) => request["advancementKey"]);
  assert.ok(keys.length > 1);
  assert.equal(new Set(keys).size, 1, "under the same key");
});

test("a spawn that the engine fails is refused and rolled back", async () => {
  engine.script = { act: { PrepareSubagentSpawn: { fail: "ENGINE_FAILURE" } } };
  await gateway.say("spawns", 'go [[tool:sessions_spawn {"task":"child task","label":"child"}]] [[say:tried]]');
  const result = model.lastWith("go").messages.find((message) => message.role === "tool");
  assert.match(JSON.stringify(result), /scripted ENGINE_FAILURE/);
  const resolved = await until("the spawn is resolved", () => engine.of("ResolveSubagentSpawn")[0]);
  assert.equal(resolved["outcome"], 2, "as rolled back");
});

test("an older, strict engine in its place gets what it knows, and the newer one catches up", async () => {
  engine.stop();
  engine.script = { minor: 0, strict: true, methods: ["Describe", "Ingest", "Assemble", "Compact"] };
  await engine.start();
  await gateway.say("wrong", "five");
  await until("the older engine assembles", async () => {
    await gateway.say("wrong", "six");
    return (await statusNow()).servedBy === "engine";
  });
  engine.stop();
  await ledger.start();
  await until("the ledger assembles", async () => {
    await gateway.say("wrong", "seven");
    return (await statusNow()).servedBy === "engine";
  });
  await gateway.say("commits", "back");
  await gateway.say("spawns", "back");
  await everySessionIsStoredOnce(ledger, gateway);
});

test("only the spawn's failure barred the engine at the host", () => {
  const others = gateway.complaints.filter((line) => !/during prepareSubagentSpawn/.test(line));
  assert.deepEqual(others, []);
});
