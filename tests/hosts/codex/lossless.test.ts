// The engine that this repository serves, behind a real Codex: what it costs, and that it loses nothing.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { join } from "node:path";
import { CodexHost, type CodexTurn } from "../harness/codex.ts";
import { EngineProcess } from "../harness/engine.ts";
import { MockResponses, textOf } from "../harness/mock_responses.ts";
import { contextwire, scratch } from "../harness/paths.ts";
import { run } from "../harness/process.ts";

const folder = scratch("lossless");
const model = new MockResponses();
const engine = new EngineProcess(folder, "lossless");
let host: CodexHost;

before(async () => {
  await engine.start();
  const target = `unix:${engine.socket}`;
  // Codex compacts by itself once a request was this large.
  const config = ["model_auto_compact_token_limit = 50000"];
  host = new CodexHost({ folder, modelPort: await model.listen(), target, config });
  host.start();
});

after(async () => {
  await host?.stop();
  await engine.stop();
  model.close();
});

async function storedOnce(): Promise<{ ok: boolean; messages: number }> {
  const log = join(folder, "state/s/log.jsonl");
  const { stdout, stderr } = await run(contextwire(), ["audit", log, "--store", engine.store, "--json"], process.env);
  assert.notEqual(stdout, "", stderr);
  return JSON.parse(stdout) as { ok: boolean; messages: number };
}

test("an unchanged epoch costs the engine's wire at most 2 KiB a turn, at any history", async () => {
  const padding = "words ".repeat(300);
  const turns: CodexTurn[] = [];
  for (let n = 1; n <= 4; n += 1) turns.push(await host.say(`turn ${n} ${padding} [[say:answer ${n} ${padding}]]`));
  for (let n = 5; n <= 8; n += 1) turns.push(await host.say(`turn ${n} [[say:answer ${n}]]`));
  assert.equal(new Set(turns.map((turn) => turn.thread_id)).size, 1, "one thread");
  assert.equal(host.count("thread/inject_items"), 0, "there was no history to inject");
  // What a turn added travels with the next one.
  const sent = turns.slice(5).map((turn) => turn.engine_bytes_sent);
  console.log(`bytes to the engine for the context of turns 6 to 8: ${sent.join(", ")}`);
  assert.ok(sent.every((bytes) => bytes <= 2048), String(sent));
});

test("an engine that is killed and comes back has every message once", async () => {
  const thread = (await host.say("before the outage")).thread_id;
  await engine.kill();
  const away = await host.say("during the outage");
  assert.deepEqual([away.thread_id, away.served_by], [thread, "in-process"]);
  await engine.start();
  await host.stop();
  host.start();
  const back = await host.say("after the outage");
  assert.deepEqual([back.thread_id, back.served_by], [thread, "lossless"]);
  const report = await storedOnce();
  assert.deepEqual([report.ok, report.messages], [true, 22], JSON.stringify(report));
});

test("a compaction that Codex begins by itself ends the thread's time", async () => {
  model.inputTokens = 55_000;
  await host.say("a large one");
  model.inputTokens = undefined;
  const turn = await host.say("the one after it");
  assert.equal(turn.compacted_by_codex, true);
  const next = await host.say("the next [[say:fresh]]");
  assert.deepEqual([next.is_new_thread, next.projected], [true, true]);
  const input = model.last.input.map(textOf).join("\n");
  assert.ok(input.includes("turn 1 words") && input.includes("the one after it"), "what the engine shows, from the beginning");
  assert.equal((await storedOnce()).ok, true);
});
