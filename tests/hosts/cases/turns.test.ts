// A whole life of sessions on a healthy engine: turns, tools, compaction, overflow, subagents, two at once. The engine's
// record, the model's requests and the gateway's log are what counts: the host answers well without any engine, too.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CANARIES } from "../harness/config.ts";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";
import { Relay } from "../harness/relay.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";

const folder = scratch("turns");
const model = new MockModel();
const engine = new EngineProcess(folder, "ledger");
const relay = new Relay(join(folder, "relay.sock"), engine.socket);
let gateway: Gateway;

before(async () => {
  await engine.start();
  await relay.listen();
  const plugin = { target: `unix:${relay.socket}` };
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin, keepRecentTokens: 4000 });
  await gateway.start();
});

after(async () => {
  await gateway?.stop();
  relay.close();
  await engine.stop();
  model.close();
});

test("a first turn, and a second one that shows the model the first", async () => {
  await gateway.say("base", "one [[say:first answer]]");
  await gateway.say("base", "two [[say:second answer]]");
  const seen = model.lastWith("two [[say").raw;
  assert.ok(seen.includes("one [[say:first answer]]") && seen.includes("first answer"));
  await everySessionIsStoredOnce(engine, gateway);
});

test("a turn with a tool call", async () => {
  await gateway.say("base", 'three [[tool:ls {"path":"."}]] [[say:looked]]');
  assert.ok(model.lastWith("three").messages.some((message) => message.role === "tool"));
  await everySessionIsStoredOnce(engine, gateway);
});

test("`/compact keep names` is delegated to the host", async () => {
  await gateway.chat("base", "/compact keep names");
  const done = await gateway.compact("base");
  assert.ok(done.ok === true, JSON.stringify(done));
  await gateway.say("base", "four");
  await everySessionIsStoredOnce(engine, gateway);
});

test("a model that refuses a prompt as too long gets a smaller one", async () => {
  for (const n of ["one", "two", "three", "four"]) await gateway.say("overflow", `${n} [[say:${"words and more words ".repeat(400)}]]`);
  const { stdout } = await gateway.say("overflow", "five [[overflow:once]] [[say:fits now]]");
  assert.ok(stdout.includes("fits now"), stdout);
  await everySessionIsStoredOnce(engine, gateway);
});

for (const context of ["isolated", "fork"]) {
  test(`a subagent that starts ${context}, and its announcement`, async () => {
    const spawn = JSON.stringify({ task: `child task ${context}`, label: `child-${context}`, context });
    await gateway.say(`spawn-${context}`, "hello");
    await gateway.say(`spawn-${context}`, `go [[tool:sessions_spawn ${spawn}]] [[say:spawned]]`);
    await everySessionIsStoredOnce(engine, gateway);
    await gateway.say(`spawn-${context}`, "and after");
    await everySessionIsStoredOnce(engine, gateway);
  });
}

test("two sessions at once", async () => {
  await Promise.all([gateway.say("left", "l1"), gateway.say("right", "r1")]);
  await Promise.all([gateway.say("left", "l2"), gateway.say("right", "r2")]);
  await everySessionIsStoredOnce(engine, gateway);
});

test("the status says who is selected and active, and nothing waits", async () => {
  const status = await gateway.call<{ selected: boolean; active: string; outbox: { aside: number } }>("contextwire.status");
  assert.equal(status.selected, true);
  assert.equal(status.active, "Ledger");
  assert.equal(status.outbox.aside, 0);
  const { findings } = await gateway.call<{ findings: { ok: boolean; what: string }[] }>("contextwire.doctor");
  assert.deepEqual(findings.filter(({ ok }) => !ok), []);
  console.log(JSON.stringify(status));
});

test("no secret of the host reached the engine", () => {
  const bytes = relay.bytes;
  assert.ok(bytes.includes("one [[say:first answer]]"), "the relay sees what goes to the engine");
  for (const [what, canary] of Object.entries(CANARIES)) assert.ok(!bytes.includes(canary), `the ${what} reached the engine`);
});

test("the gateway's log has no complaint of the engine", () => {
  assert.deepEqual(gateway.complaints, []);
});
