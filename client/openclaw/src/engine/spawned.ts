// An engine process that the plugin starts itself (`spawn` in the configuration), and starts again when it ends.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SpawnConfig } from "../config.ts";
import type { Logger } from "../host/types.ts";

/** What the engine gets of the host's environment: nothing that may hold a key. */
const PASSED_ON = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "SSL_CERT_FILE"];
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
/** A process that ran this long did not fail at its start. */
const STABLE_MS = 10_000;

/** Between this process and the engine, so that no end of this process leaves the engine behind: a kill closes the
 * pipe that it reads. It says what becomes of the engine, a line each. */
const GUARD = `
const { spawn } = require("node:child_process");
const [command, ...args] = process.argv.slice(1);
const engine = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"] });
const say = (fact) => { try { require("node:fs").writeSync(1, JSON.stringify(fact) + "\\n"); } catch {} };
if (engine.pid !== undefined) say({ pid: engine.pid });
engine.once("error", (error) => { say({ why: error.message }); process.exit(1); });
engine.once("exit", (code, signal) => { say({ why: "it ended with " + (signal ?? code) }); process.exit(0); });
const end = () => { engine.kill("SIGTERM"); setTimeout(() => engine.kill("SIGKILL"), 35000); };
process.stdin.once("close", end).resume();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, end);
`;

/** Keeps one engine process running. */
export class SpawnedEngine {
  readonly address: string;
  private readonly config: SpawnConfig;
  private readonly logger: Logger;
  private readonly folder: string;
  private guard: ChildProcess | undefined;
  private enginePid: number | undefined;
  private waitMs = FIRST_WAIT_MS;
  private isStopped = false;
  private restart: NodeJS.Timeout | undefined;
  private readonly onExit = (): void => this.stop();

  constructor(config: SpawnConfig, logger: Logger) {
    this.config = config;
    this.logger = logger;
    // Made with mode 0700; its name is short, since a socket's path may have about 100 bytes.
    this.folder = mkdtempSync(join(tmpdir(), "contextwire-"));
    this.address = `unix:${join(this.folder, "engine.sock")}`;
  }

  /** The engine's process id, while there is one. */
  get pid(): number | undefined {
    return this.guard === undefined ? undefined : this.enginePid;
  }

  /** The process id of the guard, while there is one. */
  get guardPid(): number | undefined {
    return this.guard?.pid;
  }

  start(): void {
    // One that failed at its start is not started with every turn.
    if (this.guard !== undefined || this.restart !== undefined || this.isStopped) return;
    const socket = this.address.slice("unix:".length);
    const inherited = PASSED_ON.map((key) => [key, process.env[key]] as const).filter(([, value]) => value !== undefined);
    const env = { ...Object.fromEntries(inherited), CONTEXTWIRE_SERVER_SOCKET: socket, ...this.config.env };
    const args = this.config.args.map((arg) => arg.replaceAll("{socket}", socket));
    const began = Date.now();
    const guard = spawn(process.execPath, ["-e", GUARD, "--", this.config.command, ...args], { env, stdio: ["pipe", "pipe", "inherit"] });
    this.guard = guard;
    this.enginePid = undefined;
    // A host that has nothing else to do may end.
    guard.unref();
    for (const pipe of [guard.stdin, guard.stdout]) (pipe as unknown as { unref(): void }).unref();
    guard.stdin.on("error", () => undefined);
    process.once("exit", this.onExit);
    let why: string | undefined;
    createInterface(guard.stdout).on("line", (line) => {
      const fact = JSON.parse(line) as { pid?: number; why?: string };
      if (fact.pid !== undefined && this.guard === guard) this.enginePid = fact.pid;
      why ??= fact.why;
    });
    guard.once("error", (error) => this.ended(guard, began, error.message));
    guard.once("close", () => {
      // Only something from outside ends the guard before the engine.
      if (why === undefined && this.guard === guard && this.enginePid !== undefined) endNow(this.enginePid);
      this.ended(guard, began, why ?? "it was not watched any more");
    });
  }

  /** Ends the process; `start` begins another one. */
  pause(): void {
    clearTimeout(this.restart);
    this.restart = undefined;
    process.removeListener("exit", this.onExit);
    const guard = this.guard;
    this.guard = undefined;
    guard?.stdin?.destroy();
  }

  /** For good. */
  stop(): void {
    this.isStopped = true;
    this.pause();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private ended(guard: ChildProcess, began: number, why: string): void {
    // One that was told to end is not the one in charge any more.
    if (this.guard !== guard) return;
    this.guard = undefined;
    process.removeListener("exit", this.onExit);
    this.waitMs = Date.now() - began > STABLE_MS ? FIRST_WAIT_MS : Math.min(this.waitMs * 2, LONGEST_WAIT_MS);
    this.logger.warn(`contextwire: the engine \`${this.config.command}\` is gone (${why}); it is started again in ${this.waitMs} ms`);
    this.restart = setTimeout(() => {
      this.restart = undefined;
      this.start();
    }, this.waitMs);
    this.restart.unref();
  }
}

function endNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
