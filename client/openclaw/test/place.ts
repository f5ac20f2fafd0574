// A runtime of the plugin over a scripted engine and a host in memory, each in a folder of its own.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { readConfig } from "../src/config.ts";
import type { AssembleAnswer, AssembleParams, CommitParams, CompactAnswer, CompactParams, MaintainAnswer, SessionParams, SpawnParams } from "../src/host/types.ts";
import { engineObject } from "../src/plugin.ts";
import { Runtime } from "../src/runtime.ts";
import { FakeHost } from "./fake_host.ts";
import { type Script, ScriptedEngine } from "./scripted_engine.ts";

/** The engine of one turn, as the host sees it. */
export interface HostEngine {
  info: { ownsCompaction: boolean; version: string; transcriptSemantics: object; id: string };
  assemble(params: AssembleParams): Promise<AssembleAnswer>;
  bootstrap(params: SessionParams): Promise<{ bootstrapped: boolean; reason?: string }>;
  maintain(params: SessionParams): Promise<MaintainAnswer>;
  compact(params: CompactParams): Promise<CompactAnswer>;
  commitTurn(params: CommitParams): Promise<{ status: string }>;
  prepareSubagentSpawn(params: SpawnParams): Promise<{ rollback(): void } | undefined>;
  onSubagentEnded(params: { childSessionKey: string; reason: string }): Promise<void>;
  dispose(): Promise<void>;
}

/** Everything that a test of the hooks needs. */
export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), "cw-"));
  readonly host = new FakeHost();
  readonly engine: ScriptedEngine;
  private readonly settings: Record<string, unknown>;
  private readonly runtimes: Runtime[] = [];

  constructor(context: TestContext, script: Script, settings: Record<string, unknown>) {
    this.engine = new ScriptedEngine(join(this.folder, "e.sock"), script);
    this.settings = settings;
    context.after(() => {
      for (const runtime of this.runtimes) runtime.stop();
      this.engine.stop();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** A runtime as one process of the host has it. */
  runtime(): Runtime {
    const config = readConfig({ target: this.engine.target, stateDir: join(this.folder, "state"), ...this.settings });
    const runtime = new Runtime({ config, logger: this.host.logger, stateDir: undefined, hostVersion: "1", loadSdk: async () => this.host.sdk });
    this.runtimes.push(runtime);
    return runtime;
  }

  /** The host's process ends. */
  end(runtime: Runtime): void {
    runtime.stop();
    this.runtimes.splice(this.runtimes.indexOf(runtime), 1);
  }

  /** The engine object of one turn. */
  turn(runtime: Runtime): HostEngine {
    return engineObject(runtime) as HostEngine;
  }
}

/** A place whose engine runs. */
export async function place(context: TestContext, script: Script = {}, settings: Record<string, unknown> = {}): Promise<Place> {
  const made = new Place(context, script, settings);
  await made.engine.start();
  return made;
}

/** What every hook of the test's session says. */
export const SESSION = { sessionId: "s1", sessionKey: "agent:main:test", agentId: "main" };

/** A message of a user. */
export function user(text: string, timestamp = 1): object {
  return { role: "user", content: text, timestamp };
}

/** Looks again and again until something is there; the limit is only reached by a hang. */
export async function until<T>(look: () => T | undefined | false): Promise<T> {
  for (let tries = 0; tries < 6000; tries += 1) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("waited in vain");
}
