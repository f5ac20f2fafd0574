import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
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

test("an engine does not outlive a host that is killed", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "cw-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const module = join(import.meta.dirname, "../src/engine/spawned.ts");
  const config = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], env: {} };
  const host = `
    const { SpawnedEngine } = await import(${JSON.stringify(module)});
    const engine = new SpawnedEngine(${JSON.stringify(config)}, console);
    engine.start();
    setInterval(() => engine.pid && console.log(engine.pid), 20);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", host], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, TMPDIR: folder } });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  const pid = Number.parseInt(line, 10);
  assert.doesNotThrow(() => process.kill(pid, 0));
  child.kill("SIGKILL");
  await until(() => isGone(pid));
});

test("an engine whose guard is killed is ended before another one is started", async (t) => {
  const engine = new SpawnedEngine({ command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], env: {} }, console);
  t.after(() => engine.stop());
  engine.start();
  const pid = await until(() => engine.pid);
  process.kill(engine.guardPid ?? 0, "SIGKILL");
  await until(() => isGone(pid));
  assert.notEqual(await until(() => (engine.pid === pid ? undefined : engine.pid)), pid);
});

/** Also when nobody has asked yet how it ended. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  return existsSync("/proc/self/stat") && /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

test("a program that does not exist is said, and is no end of the gateway", async (t) => {
  const warnings: string[] = [];
  const logger = { info: () => undefined, warn: (text: string) => void warnings.push(text), error: () => undefined };
  const engine = new SpawnedEngine({ command: "no-such-program-here", args: [], env: {} }, logger);
  t.after(() => engine.stop());
  engine.start();
  await until(() => warnings[0]?.includes("no-such-program-here"));
});
