// What an engine is told beside its turns: spawns and their end, and sessions that are deleted at the host. The engine is
// a scripted one, in this process, which keeps what it was sent.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { ScriptedEngine } from "../../../client/openclaw/test/scripted_engine.ts";
import { Gateway, key } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";
import { until } from "../harness/wait.ts";

const folder = scratch("told");
const model = new MockModel();
const engine = new ScriptedEngine(join(folder, "engine.sock"));
let gateway: Gateway;

before(async () => {
  await engine.start();
  gateway = new Gateway({ folder, modelPort: await model.listen(), plugin: { target: engine.target, eraseDeleted: true } });
  await gateway.start();
});

beforeEach(() => {
  engine.received.length = 0;
});

after(async () => {
  await gateway?.stop();
  engine.stop();
  model.close();
});

/** The host's id of a session, from the last hook that was called of it. */
function sessionId(name: string): string | undefined {
  const calls = engine.received.map(({ request }) => request["call"] as { session?: { sessionKey?: string; sessionId: string } } | undefined);
  return calls.findLast((call) => call?.session?.sessionKey === key(name))?.session?.sessionId;
}

for (const [context, mode] of [["isolated", 1], ["fork", 2]] as const) {
  test(`a spawn that starts ${context} is prepared, started and ended at the engine`, async () => {
    const spawn = JSON.stringify({ task: `child task of ${context}`, label: `child-${context}`, context });
    await gateway.say(`ends-${context}`, "hello");
    await gateway.say(`ends-${context}`, `go [[tool:sessions_spawn ${spawn}]] [[say:spawned]]`);
    const ended = await until("the child's end is told", () => engine.of("EndSubagent")[0]);
    const prepared = engine.of("PrepareSubagentSpawn")[0];
    assert.equal(prepared?.["childSessionKey"], ended["childSessionKey"]);
    assert.equal(prepared?.["contextMode"], mode);
    assert.deepEqual(engine.of("ResolveSubagentSpawn").map((one) => one["outcome"]), [1], "as started, before its end");
  });
}

test("a session that is deleted at the host is erased at the engine", async () => {
  await gateway.say("gone", "one");
  const id = await until("a hook of the session is called", () => sessionId("gone"));
  const { code, stderr, stdout } = await gateway.command(["sessions", "delete", key("gone"), "--yes", "--json"]);
  assert.equal(code, 0, stderr + stdout);
  const erased = await until("it is erased", () => engine.of("EraseSession")[0]);
  assert.equal(erased["sessionId"], id);
  const outbox = async () => (await gateway.call<{ outbox: { waiting: number } }>("contextwire.status")).outbox;
  await until("nothing waits", async () => (await outbox()).waiting === 0);
  assert.equal(engine.of("EraseSession").length, 1, "and no other one");
});

test("the host never went past the plugin", () => {
  assert.deepEqual(gateway.complaints, []);
});
