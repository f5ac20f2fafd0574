// `contextwire codex-run` on the real Codex, in a home of its own, with a model that is told what to say.

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Interface, createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { codex, contextwire } from "./paths.ts";
import { until } from "./wait.ts";

/** What the host says of a turn. */
export interface CodexTurn {
  turn: number;
  status: string;
  answer: string;
  thread_id: string;
  mode: string;
  epoch: string | null;
  projected: boolean;
  reason: string;
  is_new_thread: boolean;
  served_by: string;
  engine_problem: string;
  injected_messages: number;
  tool_calls: number;
  engine_bytes_sent: number;
  compacted_by_codex: boolean;
  tokens: { input_tokens: number } | null;
}

/** Settings of one host. */
export interface CodexOptions {
  folder: string;
  modelPort: number;
  /** Of the engine. */
  target: string;
  /** Lines for Codex's own configuration, before its tables. */
  config?: string[];
}

/** The host: started, told prompts, killed, started again; its folder stays. */
export class CodexHost {
  private readonly options: CodexOptions;
  private readonly relay: string;
  private child: ChildProcessByStdio<Writable, Readable, null> | undefined;
  private lines: AsyncIterator<string> | undefined;
  private reading: Interface | undefined;

  constructor(options: CodexOptions) {
    this.options = options;
    this.relay = join(options.folder, "relay");
    for (const name of ["home", "cwd", "relay"]) mkdirSync(join(options.folder, name), { recursive: true });
    const config = [
      'model = "mock-1"',
      'model_provider = "mock"',
      "check_for_update_on_startup = false",
      "model_context_window = 64000",
      ...(options.config ?? []),
      "[analytics]",
      "enabled = false",
      "[model_providers.mock]",
      'name = "mock"',
      `base_url = "http://127.0.0.1:${options.modelPort}/v1"`,
      'wire_api = "responses"',
      "request_max_retries = 0",
      "stream_max_retries = 0",
      "requires_openai_auth = false",
    ];
    writeFileSync(join(options.folder, "home/config.toml"), `${config.join("\n")}\n`);
    const script = join(import.meta.dirname, "codex_relay.mjs");
    const program = join(options.folder, "codex");
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
    chmodSync(program, 0o755);
  }

  /** Starts `contextwire codex-run`, which reads prompts from its standard input. */
  start(...args: string[]): void {
    const { folder, target } = this.options;
    const fixed = ["codex-run", "--json", "--config", "none", "--target", target, "--session", "s", "--state", join(folder, "state")];
    const own = ["--codex", join(folder, "codex"), "--codex-home", join(folder, "home"), "--cwd", join(folder, "cwd")];
    const env = {
      PATH: process.env["PATH"],
      HOME: join(folder, "home"),
      CODEX_RELAY_FOLDER: this.relay,
      CODEX_RELAY_PROGRAM: codex(),
    };
    const log = openSync(join(folder, "codex-run.log"), "a");
    const stdio = ["pipe", "pipe", log] as const;
    const child = spawn(contextwire(), [...fixed, ...own, ...args], { env, stdio: [...stdio] }) as ChildProcessByStdio<Writable, Readable, null>;
    this.child = child;
    this.reading = createInterface({ input: child.stdout });
    this.lines = this.reading[Symbol.asyncIterator]();
  }

  /** One line to the host, one from it. */
  async ask(line: string): Promise<unknown> {
    this.send(line);
    const { value, done } = (await this.lines?.next()) ?? { done: true, value: undefined };
    if (done === true) throw new Error(`the host ended:\n${this.log.slice(-4000)}`);
    return JSON.parse(value as string) as unknown;
  }

  /** A turn that the model answers. */
  async say(prompt: string): Promise<CodexTurn> {
    const turn = (await this.ask(prompt)) as CodexTurn;
    assert.equal(turn.status, "completed", JSON.stringify(turn));
    return turn;
  }

  /** A line whose answer nobody reads. */
  send(line: string): void {
    this.child?.stdin.write(`${line}\n`);
  }

  /** Ends it as a user does: no more prompts. */
  async stop(): Promise<void> {
    await this.ended(() => this.child?.stdin.end());
  }

  async kill(): Promise<void> {
    await this.ended(() => this.child?.kill("SIGKILL"));
  }

  /** Kills the host once the app-server has done `method` and before the host can know it. */
  async killAt(method: string, prompt: string): Promise<void> {
    writeFileSync(join(this.relay, "hold"), method);
    this.send(prompt);
    await until(`the answer to ${method} is held back`, () => existsSync(join(this.relay, "held")));
    await this.kill();
    for (const name of ["hold", "held"]) rmSync(join(this.relay, name));
  }

  get log(): string {
    return readFileSync(join(this.options.folder, "codex-run.log"), "utf8");
  }

  /** What the host asked the app-server, in order. */
  get asked(): { method: string; params: Record<string, unknown> }[] {
    const lines = readFileSync(join(this.relay, "frames.jsonl"), "utf8").trim().split("\n");
    const frames = lines.map((line) => JSON.parse(line) as { way: string; message: { method?: string; params: Record<string, unknown> } });
    return frames.flatMap(({ way, message: { method, params } }) => (way === "out" && method !== undefined ? [{ method, params }] : []));
  }

  /** How often the host asked for this. */
  count(method: string): number {
    return this.asked.filter((one) => one.method === method).length;
  }

  /** The process of Codex itself. */
  get pid(): number {
    return Number(readFileSync(join(this.relay, "pid"), "utf8"));
  }

  private async ended(how: () => void): Promise<void> {
    const child = this.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    how();
    const guard = setTimeout(() => child.kill("SIGKILL"), 30_000);
    await gone;
    clearTimeout(guard);
    this.reading?.close();
  }
}
