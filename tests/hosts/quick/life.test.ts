// One life of a session in a real gateway, short enough for every change: turns, a tool, a compaction, an engine that
// goes away and comes back, a gateway that does. Nothing here depends on how quick the machine is: where a call of the
// engine is late, the turn goes on without it, and what counts is what the engine has stored in the end.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";
import { until } from "../harness/wait.ts";

const folder = scratch("quick");
const model = new MockModel();
const engine = new EngineProcess(folder, "ledger");
let gateway: Gateway;

interface Status {
  selected: boolean;
  servedBy: string;
  outbox: { waiting: number; aside: number };
}

before(async () => {
  await engine.start();
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin: { target: `unix:${engine.socket}` }, keepRecentTokens: 4000 });
  await gateway.start();
});

after(async () => {
  await gateway?.stop();
  await engine.stop();
  model.close();
});

const statusNow = (): Promise<Status> => gateway.call<Status>("contextwire.status");

async function says(message: string, first = ""): Promise<void> {
  const { code, stdout, stderr } = await gateway.say("life", `${message} ${first}[[say:answer to ${message}]]`);
  assert.equal(code, 0, stderr);
  assert.ok(stdout.includes(`answer to ${message}`), stdout);
}

async function waiting(count: number): Promise<void> {
  await until(`${count} calls wait in the outbox`, async () => (await statusNow()).outbox.waiting === count);
}

test("a first turn, and a second one that shows the model the first", async () => {
  await says("one");
  await says("two");
  assert.ok(model.lastWith("two [[say").raw.includes("answer to one"));
  await everySessionIsStoredOnce(engine, gateway);
});

test("the engine is what answers, and the host selected it", async () => {
  await until("the engine assembles", async () => {
    await says("three");
    return (await statusNow()).servedBy === "engine";
  });
  assert.equal((await statusNow()).selected, true);
});

test("a turn with a tool call", async () => {
  await says("four", '[[tool:ls {"path":"."}]] ');
  assert.ok(model.lastWith("four").messages.some(({ role }) => role === "tool"));
  await everySessionIsStoredOnce(engine, gateway);
});

test("a compaction, which the ledger delegates to the host", async () => {
  for (const n of ["one", "two", "three"]) await gateway.say("long", `${n} [[say:${"words and more words ".repeat(400)}]]`);
  const done = await gateway.compact("long");
  assert.deepEqual([done.ok, done.compacted], [true, true], JSON.stringify(done));
  await gateway.say("long", "four");
  assert.match(model.lastWith("four").raw, /summary \d+: what was said before/);
  await everySessionIsStoredOnce(engine, gateway);
});

test("an engine that is killed, a gateway that restarts with the turn in its outbox, and the engine back again", async () => {
  await waiting(0);
  await engine.kill();
  await says("six");
  await waiting(1);
  await gateway.stop();
  await gateway.start();
  assert.equal((await statusNow()).outbox.waiting, 1, "the outbox outlived the gateway");
  await engine.start();
  await waiting(0);
  await says("seven");
  await everySessionIsStoredOnce(engine, gateway);
});

test("the host never went past the plugin, and nothing was set aside", async () => {
  assert.deepEqual(gateway.complaints, []);
  assert.equal((await statusNow()).outbox.aside, 0);
});
