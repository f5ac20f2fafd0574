import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { status } from "@grpc/grpc-js";
import { sessionEnded } from "../src/hook/erase.ts";
import { type PluginApi, register } from "../src/plugin.ts";
import { SESSION, place, until, user } from "./place.ts";

const DELETED = { ...SESSION, reason: "deleted" };

test("a session that is deleted at the host is erased at the engine, whenever it is there", async (t) => {
  const at = await place(t);
  at.engine.stop();
  const first = at.runtime();
  sessionEnded(first, DELETED);
  first.start();
  await until(() => first.outbox.counts().lastError);
  at.end(first);
  await at.engine.start();
  const second = at.runtime();
  second.start();
  const sent = await until(() => at.engine.of("EraseSession")[0]);
  assert.equal(sent["sessionId"], SESSION.sessionId);
  assert.deepEqual(sent["entryIds"], []);
  await until(() => second.outbox.counts().waiting === 0);
});

test("a session that ends otherwise stays stored", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  for (const reason of ["new", "reset", "idle", "shutdown", undefined]) sessionEnded(runtime, { ...SESSION, ...(reason === undefined ? {} : { reason }) });
  assert.deepEqual(runtime.outbox.counts(), { waiting: 0, aside: 0 });
});

test("nothing of a deleted session follows its erasure", async (t) => {
  const at = await place(t);
  at.host.add("user", "a");
  const runtime = at.runtime();
  const turn = at.turn(runtime);
  await turn.assemble({ ...SESSION, messages: [user("a")], prompt: "now" });
  runtime.outbox.add("commit", SESSION.sessionId, "turn", "{}", Date.now());
  at.host.entries = [];
  at.host.generation += 1;
  sessionEnded(runtime, DELETED);
  await turn.dispose();
  runtime.delivery.wake();
  await until(() => at.engine.of("EraseSession")[0] && runtime.outbox.counts().waiting === 0);
  assert.equal(at.engine.of("CommitTurn").length, 0);
});

test("an engine that cannot erase is said, and one that leaves something is asked again", async (t) => {
  const at = await place(t, { act: { EraseSession: { fail: "METHOD_ABSENT", code: status.UNIMPLEMENTED } } });
  const runtime = at.runtime();
  sessionEnded(runtime, DELETED);
  runtime.start();
  await until(() => runtime.outbox.counts().aside === 1);
  assert.ok(at.host.warnings.some((line) => line.includes("an erase could not be brought to the engine")));
  at.engine.script = { act: { EraseSession: { answer: { found: true, proof: { clean: false, remains: ["a page of the file"] } } } } };
  sessionEnded(runtime, { ...DELETED, sessionId: "s2" });
  runtime.start();
  await until(() => runtime.outbox.counts().waiting === 1 && at.engine.of("EraseSession").length > 1);
  at.engine.script = {};
  await until(() => runtime.outbox.counts().waiting === 0);
  assert.equal(runtime.outbox.counts().aside, 1);
});

test("only the configuration makes the plugin listen to ends of sessions", async (t) => {
  const at = await place(t);
  const hooks: string[] = [];
  const api = (more: object): PluginApi => ({
    pluginConfig: { target: at.engine.target, stateDir: join(at.folder, "state"), ...more },
    logger: at.host.logger,
    on: (hook) => void hooks.push(hook),
    registerContextEngine: () => undefined,
  });
  register(api({}));
  assert.deepEqual(hooks, []);
  register(api({ eraseDeleted: true }));
  assert.deepEqual(hooks, ["session_end"]);
});
