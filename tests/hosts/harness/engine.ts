// An engine of this repository in a process of its own, and what it stored.

import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { contextwire } from "./paths.ts";
import { Beside, run } from "./process.ts";
import { until } from "./wait.ts";

/** `contextwire serve` over a folder. */
export class EngineProcess {
  readonly socket: string;
  readonly store: string;
  private readonly folder: string;
  private readonly kind: string;
  private process: Beside | undefined;

  constructor(folder: string, kind: "ledger" | "lossless" | "windowed") {
    this.folder = folder;
    this.kind = kind;
    this.socket = join(folder, "engine.sock");
    this.store = join(folder, "ledger.sqlite");
  }

  get running(): Beside {
    if (this.process === undefined) throw new Error("the engine was not started");
    return this.process;
  }

  async start(): Promise<void> {
    const args = ["serve", "--engine", this.kind, "--socket", this.socket];
    if (this.kind !== "windowed") args.push("--store", this.store);
    this.process = new Beside(contextwire(), args, process.env, join(this.folder, "engine.log"));
    await until("the engine listens", () => answers(this.socket));
  }

  async kill(): Promise<void> {
    await this.process?.stop("SIGKILL");
  }

  async stop(): Promise<void> {
    this.process?.resume();
    await this.process?.stop("SIGTERM");
  }

  /** What `contextwire audit` says of a session of the host. */
  async audit(hostStore: string, sessionId: string): Promise<AuditReport> {
    const args = ["audit", hostStore, "--transcript", sessionId, "--store", this.store, "--json"];
    const { stdout, stderr } = await run(contextwire(), args, process.env);
    if (stdout === "") throw new Error(`no audit of ${sessionId}: ${stderr}`);
    return JSON.parse(stdout) as AuditReport;
  }
}

/** The report of an audit. */
export interface AuditReport {
  ok: boolean;
  messages: number;
  stored: number;
  provisional: number;
  findings: object[];
}

/** Whether somebody accepts connections there. */
export async function answers(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false;
  return new Promise((resolve) => {
    const connection = connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.on("error", () => resolve(false));
  });
}
