// An engine process that the plugin starts itself (`spawn` in the configuration), and starts again when it ends.

import { type ChildProcess, spawn } from "node:child_process";
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

/** Keeps one engine process running. */
export class SpawnedEngine {
  readonly address: string;
  private readonly config: SpawnConfig;
  private readonly logger: Logger;
  private readonly folder: string;
  private child: ChildProcess | undefined;
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

  /** The process id, while there is one. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  start(): void {
    // One that failed at its start is not started with every turn.
    if (this.child !== undefined || this.restart !== undefined || this.isStopped) return;
    const socket = this.address.slice("unix:".length);
    const inherited = PASSED_ON.map((key) => [key, process.env[key]] as const).filter(([, value]) => value !== undefined);
    const env = { ...Object.fromEntries(inherited), CONTEXTWIRE_SERVER_SOCKET: socket, ...this.config.env };
    const args = this.config.args.map((arg) => arg.replaceAll("{socket}", socket));
    const began = Date.now();
    const child = spawn(this.config.command, args, { env, stdio: ["ignore", "ignore", "inherit"] });
    this.child = child;
    // A host that has nothing else to do may end.
    child.unref();
    process.once("exit", this.onExit);
    child.once("error", (error) => this.ended(child, began, error.message));
    child.once("exit", (code, signal) => this.ended(child, began, `it ended with ${signal ?? code}`));
  }

  /** Ends the process; `start` begins another one. */
  pause(): void {
    clearTimeout(this.restart);
    this.restart = undefined;
    process.removeListener("exit", this.onExit);
    const child = this.child;
    this.child = undefined;
    child?.kill("SIGTERM");
  }

  /** For good. */
  stop(): void {
    this.isStopped = true;
    this.pause();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private ended(child: ChildProcess, began: number, why: string): void {
    // One that was told to end is not the one in charge any more.
    if (this.child !== child) return;
    this.child = undefined;
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
