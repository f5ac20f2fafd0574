import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { report } from "../src/plugin.ts";
import { register } from "../src/plugin.ts";
import { SESSION, place, user } from "./place.ts";

test("the status says what is selected, what is active and why", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  assert.match(await report(runtime, "legacy", ""), /selected: no; set plugins.slots.contextEngine/);
  assert.match(await report(runtime, "contextwire", "status"), /never seen/);
  await at.turn(runtime).assemble({ ...SESSION, messages: [user("a")], prompt: "now" });
  assert.match(await report(runtime, "contextwire", "status"), /active: Scripted[\s\S]*last context from: engine/);
  at.engine.stop();
  for (const prompt of ["b", "c"]) await at.turn(runtime).assemble({ ...SESSION, messages: [user("a")], prompt });
  const said = JSON.parse(await report(runtime, "contextwire", "--json"));
  assert.equal(said.active, "this process, since the engine does not answer");
  assert.equal(said.lastFailure.hook, "Assemble");
});

test("the doctor names what is wrong and what to do, and warnings are said once", async (t) => {
  const at = await place(t);
  const runtime = at.runtime();
  assert.doesNotMatch(await report(runtime, "contextwire", "doctor"), /PROBLEM/);
  at.engine.stop();
  for (const prompt of ["b", "c", "d"]) await at.turn(runtime).assemble({ ...SESSION, messages: [user("a")], prompt });
  const said = await report(runtime, "other", "doctor");
  assert.match(said, /PROBLEM: the host selects other[\s\S]*PROBLEM: no engine answers[\s\S]*to do: start it/);
  const kinds = at.host.warnings.map((line) => line.replace(/\(.*/, ""));
  assert.equal(new Set(kinds).size, kinds.length, kinds.join("\n"));
  assert.match(await report(runtime, "contextwire", "fix"), /there is no `fix`/);
});

test("trap 10: registering opens nothing and asks for no prompt hooks; a bad configuration says all that is wrong", async (t) => {
  const at = await place(t);
  const registered: string[] = [];
  const services: { start(): void; stop(): void }[] = [];
  const api = {
    registrationMode: "discovery",
    pluginConfig: { target: at.engine.target, stateDir: join(at.folder, "state") },
    logger: at.host.logger,
    registerContextEngine: (id: string) => registered.push(id),
    config: { plugins: { slots: { contextEngine: "contextwire" } } },
    registerService: (service: { start(): void; stop(): void }) => services.push(service),
    registerCommand: (command: object) => registered.push((command as { name: string }).name),
    registerGatewayMethod: (method: string) => registered.push(method),
  };
  register(api);
  register(api);
  assert.deepEqual([...new Set(registered)].sort(), ["contextwire", "contextwire.doctor", "contextwire.status"]);
  assert.equal(at.engine.received.length, 0);
  assert.ok(!existsSync(join(at.folder, "state")), "not even the plugin's own file");
  services[0]?.start();
  assert.ok(existsSync(join(at.folder, "state")), "a gateway that starts opens it, since turns may wait there");
  for (const service of services) service.stop();
  assert.throws(() => register({ ...api, pluginConfig: {} }), /set either `target`/);
});
