// A session that is deleted at the host, and what is left of it in the file of an engine that stores everything.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway, key } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { contextwire, scratch } from "../harness/paths.ts";
import { run } from "../harness/process.ts";
import { until } from "../harness/wait.ts";

const folder = scratch("erased");
const model = new MockModel();
const engine = new EngineProcess(folder, "lossless");
let gateway: Gateway;

before(async () => {
  await engine.start();
  const plugin = { target: `unix:${engine.socket}`, eraseDeleted: true };
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin });
  await gateway.start();
});

after(async () => {
  await gateway?.stop();
  await engine.stop();
  model.close();
});

/** The sessions in the engine's store, as its operator sees them. */
async function stored(): Promise<string> {
  return (await run(contextwire(), ["sessions", "--store", engine.store, "--json"], process.env)).stdout;
}

/** Whether a word stands anywhere in the store's files. */
function isInFiles(word: string): boolean {
  const files = readdirSync(dirname(engine.store)).filter((name) => name.startsWith("ledger.sqlite"));
  assert.ok(files.length > 0, "the store has files");
  return files.some((name) => readFileSync(join(dirname(engine.store), name)).includes(word));
}

test("a session that is deleted at the host leaves nothing in the engine's files, and the other one stays", async () => {
  await gateway.say("gone", "the pelican is mine [[say:noted]]");
  await gateway.say("kept", "the heron is mine [[say:noted]]");
  await until("both are stored", () => isInFiles("pelican") && isInFiles("heron"));
  const before = await stored();
  const { code, stderr, stdout } = await gateway.command(["sessions", "delete", key("gone"), "--yes", "--json"]);
  assert.equal(code, 0, stderr + stdout);
  await until("its words are gone", () => !isInFiles("pelican"));
  assert.ok(isInFiles("heron"), "the other session stays");
  assert.notEqual(await stored(), before);
  assert.ok(!(await stored()).includes(key("gone")));
});

test("the session goes on under its key as a new one", async () => {
  await gateway.say("gone", "the stork is mine [[say:noted]]");
  await until("it is stored", () => isInFiles("stork"));
  assert.ok(!isInFiles("pelican"));
  assert.deepEqual(gateway.complaints, []);
});
