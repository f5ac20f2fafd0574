// An engine that is not there, goes away, stands still or comes back, and a gateway that does. Each turn is answered
// all the same, and in the end every message is in the engine's log once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";

const folder = scratch("outages");
const model = new MockModel();
const engine = new EngineProcess(folder, "ledger");
let gateway: Gateway;

before(async () => {
  const target = `unix:${engine.socket}`;
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin: { target } });
  await gateway.start();
});

after(async () => {
  await gateway?.stop();
  await engine.stop();
  model.close();
});

async function isAnswered(message: string): Promise<void> {
  const { code, stdout, stderr } = await gateway.say("s", `${message} [[say:answer to ${message}]]`);
  assert.equal(code, 0, stderr);
  assert.ok(stdout.includes(`answer to ${message}`), stdout);
}

interface Status {
  engine?: { id: string };
  servedBy: string;
  outbox: { waiting: number; aside: number };
}

test("an engine that is down when the gateway starts, and appears later", async () => {
  await isAnswered("one");
  const down = await gateway.call<Status>("contextwire.status");
  assert.equal(down.engine, undefined);
  assert.match(down.servedBy, /this process/);
  assert.equal(down.outbox.waiting, 1, "the turn waits on the disk");
  await engine.start();
  await everySessionIsStoredOnce(engine, gateway);
  await isAnswered("two");
  assert.equal((await gateway.call<Status>("contextwire.status")).servedBy, "engine");
  await everySessionIsStoredOnce(engine, gateway);
});

test("an engine that is killed between turns", async () => {
  await engine.kill();
  await isAnswered("three");
  await isAnswered("four");
  await engine.start();
  await everySessionIsStoredOnce(engine, gateway);
});

test("an engine that is killed inside a turn", async () => {
  const turn = gateway.say("s", 'five [[tool:ls {"path":"."}]] [[wait:five]] [[say:went on]]');
  await model.arrived("five");
  await engine.kill();
  model.release("five");
  const { code, stdout } = await turn;
  assert.equal(code, 0);
  assert.ok(stdout.includes("went on"));
  await engine.start();
  await everySessionIsStoredOnce(engine, gateway);
});

test("an engine that stands still for ten seconds, over a turn", async () => {
  engine.running.pause();
  const tenSeconds = new Promise((resolve) => setTimeout(resolve, 10_000));
  await isAnswered("six");
  await tenSeconds;
  engine.running.resume();
  await everySessionIsStoredOnce(engine, gateway);
});

test("an engine that is restarted between turns costs nothing", async () => {
  await engine.stop();
  await engine.start();
  await isAnswered("seven");
  await everySessionIsStoredOnce(engine, gateway);
});

test("a gateway that is restarted with turns in its outbox", async () => {
  await engine.kill();
  await isAnswered("eight");
  await gateway.stop();
  await gateway.start();
  const waiting = (await gateway.call<Status>("contextwire.status")).outbox.waiting;
  assert.equal(waiting, 1, "the outbox outlived the gateway");
  await engine.start();
  await everySessionIsStoredOnce(engine, gateway);
  await isAnswered("nine");
  await everySessionIsStoredOnce(engine, gateway);
});

test("the host never went past the plugin, and the operator can see why", async () => {
  assert.deepEqual(gateway.complaints, []);
  assert.match(gateway.log, /contextwire: .*does not answer/);
  const { outbox } = await gateway.call<Status>("contextwire.status");
  assert.deepEqual({ waiting: outbox.waiting, aside: outbox.aside }, { waiting: 0, aside: 0 });
});
