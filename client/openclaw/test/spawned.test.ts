import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SpawnedEngine } from "../src/engine/spawned.ts";
import { until } from "./place.ts";

const PROGRAM = "require('fs').appendFileSync(process.argv[1], JSON.stringify(process.env) + '\\n'); setInterval(() => {}, 1000)";

test("an engine that the plugin starts gets its socket and no key of the host, and is started again when it ends", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "cw-"));
  const file = join(folder, "environments");
  const warnings: string[] = [];
  const logger = { info: () => undefined, warn: (text: string) => void warnings.push(text), error: () => undefined };
  const config = { command: process.execPath, args: ["-e", PROGRAM, file], env: { LEVEL: "info" } };
  const engine = new SpawnedEngine(config, logger);
  t.after(() => {
    engine.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const starts = (): Record<string, string>[] =>
    existsSync(file) ? readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)) : [];
  engine.start();
  const [environment] = await until(() => (starts().length === 1 ? starts() : false));
  assert.equal(`unix:${environment?.["CONTEXTWIRE_SERVER_SOCKET"]}`, engine.address);
  assert.equal(environment?.["LEVEL"], "info");
  const passed = Object.keys(environment ?? {}).filter((key) => /KEY|TOKEN|SECRET|NODE_|OPENCLAW/.test(key));
  assert.deepEqual(passed, []);
  process.kill(engine.pid ?? 0, "SIGKILL");
  await until(() => starts().length === 2);
  engine.pause();
  assert.equal(engine.pid, undefined);
  engine.start();
  await until(() => starts().length === 3);
  assert.match(warnings[0] ?? "", /is gone \(it ended with SIGKILL\)/);
});

test("a program that does not exist is said, and is no end of the gateway", async (t) => {
  const warnings: string[] = [];
  const logger = { info: () => undefined, warn: (text: string) => void warnings.push(text), error: () => undefined };
  const engine = new SpawnedEngine({ command: "no-such-program-here", args: [], env: {} }, logger);
  t.after(() => engine.stop());
  engine.start();
  await until(() => warnings[0]?.includes("no-such-program-here"));
});
