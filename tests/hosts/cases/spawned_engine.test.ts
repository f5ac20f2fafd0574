// An engine that the plugin starts itself: kept running, and gone with the gateway however that ends.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { contextwire, scratch } from "../harness/paths.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";
import { until } from "../harness/wait.ts";

const folder = scratch("spawned");
const model = new MockModel();
/** Never started here: the plugin does. It knows the store. */
const ledger = new EngineProcess(folder, "ledger");
let gateway: Gateway;

before(async () => {
  const spawn = { command: contextwire(), args: ["serve", "--engine", "ledger", "--store", ledger.store] };
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin: { spawn } });
  await gateway.start();
});

after(async () => {
  await gateway?.stop();
  model.close();
});

async function enginePid(): Promise<number> {
  return until("the engine runs", async () => (await gateway.call<{ enginePid?: number }>("contextwire.status")).enginePid);
}

/** Also when nobody has asked yet how it ended. */
function isGone(pid: number): boolean {
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || /\) Z /.test(readFileSync(stat, "utf8"));
}

async function isServed(message: string): Promise<void> {
  await until("the engine assembles", async () => {
    const { code, stderr } = await gateway.say("s", `${message} [[say:answer to ${message}]]`);
    assert.equal(code, 0, stderr);
    return (await gateway.call<{ servedBy: string }>("contextwire.status")).servedBy === "engine";
  });
  await everySessionIsStoredOnce(ledger, gateway);
}

test("the gateway starts the engine, and turns are served by it", async () => {
  await enginePid();
  await isServed("one");
});

test("an engine that dies is started again", async () => {
  const first = await enginePid();
  process.kill(first, "SIGKILL");
  await until("another one runs", async () => (await enginePid()) !== first);
  await isServed("two");
});

test("it ends with the gateway, and starts with the next one", async () => {
  const pid = await enginePid();
  await gateway.stop();
  await until("the engine is gone", () => isGone(pid));
  await gateway.start();
  await isServed("three");
});

test("it does not outlive a gateway that is killed", async () => {
  const pid = await enginePid();
  await gateway.stop("SIGKILL");
  await until("the engine is gone", () => isGone(pid));
});

test("the host never went past the plugin", () => {
  assert.deepEqual(gateway.complaints, []);
});
