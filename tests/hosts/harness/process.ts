// Programs that a test runs: one to its end, or one beside it.

import { type ChildProcess, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { once } from "node:events";

/** How a program ended. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end. */
export async function run(program: string, args: string[], env: NodeJS.ProcessEnv, limitMs = 600_000): Promise<Ended> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"], timeout: limitMs, killSignal: "SIGKILL" });
  const chunks = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (chunks.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (chunks.stderr += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...chunks };
}

/** A program that runs beside the test, its output in a file. */
export class Beside {
  readonly child: ChildProcess;

  constructor(program: string, args: string[], env: NodeJS.ProcessEnv, log: string) {
    const file = openSync(log, "a");
    this.child = spawn(program, args, { env, stdio: ["ignore", file, file] });
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Ends it, and waits until it is gone. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (!this.isRunning) return;
    const gone = once(this.child, "exit");
    this.child.kill(signal);
    const guard = setTimeout(() => this.child.kill("SIGKILL"), 120_000);
    await gone;
    clearTimeout(guard);
  }

  pause(): void {
    this.child.kill("SIGSTOP");
  }

  resume(): void {
    this.child.kill("SIGCONT");
  }
}
