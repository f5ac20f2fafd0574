// OpenClaw on its Codex harness: turns run in a native thread, which gets the engine's context once an epoch.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";

const folder = scratch("codex");
const model = new MockModel();
const engine = new EngineProcess(folder, "ledger");
let gateway: Gateway;

before(async () => {
  await engine.start();
  const plugin = { target: `unix:${engine.socket}` };
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin, codex: true });
  await gateway.start();
});

after(async () => {
  await gateway?.stop();
  await engine.stop();
  model.close();
});

async function says(message: string, first = ""): Promise<void> {
  const { code, stdout, stderr } = await gateway.say("thread", `${message} ${first}[[say:answer to ${message}]]`);
  assert.equal(code, 0, stderr);
  assert.ok(stdout.includes(`answer to ${message}`), stdout);
}

test("turns on the Codex harness are answered with the engine's context and stored once", async () => {
  for (const message of ["one", "two", "three"]) await says(message);
  const { servedBy } = await gateway.call<{ servedBy: string }>("contextwire.status");
  assert.equal(servedBy, "engine");
  assert.ok(model.lastWith("three [[say").raw.includes("answer to two"));
  await everySessionIsStoredOnce(engine, gateway);
});

test("a tool of the host in a native thread", async () => {
  await says("four", "[[tool:session_status {}]] ");
  await everySessionIsStoredOnce(engine, gateway);
});

test("a turn goes on while the engine is away, and reaches it afterwards", async () => {
  await engine.kill();
  await says("five");
  await engine.start();
  await everySessionIsStoredOnce(engine, gateway);
  await says("six");
  await everySessionIsStoredOnce(engine, gateway);
});

test("the gateway's log has no complaint of the engine", () => {
  assert.deepEqual(gateway.complaints, []);
});
