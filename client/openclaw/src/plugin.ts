// What the host sees: an engine for each turn, a command, and a method of the gateway.

import { createHash } from "node:crypto";
import { type Config, readConfig } from "./config.ts";
import { assemble } from "./hook/assemble.ts";
import { bootstrap } from "./hook/bootstrap.ts";
import { commitTurn } from "./hook/commit.ts";
import { compact } from "./hook/compact.ts";
import { sessionEnded } from "./hook/erase.ts";
import { maintain } from "./hook/maintain.ts";
import { prepareSubagentSpawn, subagentEnded } from "./hook/subagent.ts";
import { Turn } from "./hook/turn.ts";
import { loadSdk } from "./host/sdk.ts";
import type {
  AssembleParams,
  CommitParams,
  CompactParams,
  Logger,
  SessionEndEvent,
  SessionParams,
  SpawnParams,
  SubagentEndParams,
} from "./host/types.ts";
import { doctor, doctorText } from "./report/doctor.ts";
import { status, statusText } from "./report/status.ts";
import { Runtime } from "./runtime.ts";

/** The part of the host's plugin interface that is used. */
export interface PluginApi {
  registrationMode?: string;
  pluginConfig?: Record<string, unknown>;
  config?: { plugins?: { slots?: { contextEngine?: string } }; meta?: { lastTouchedVersion?: string } };
  logger: Logger;
  runtime?: { state?: { resolveStateDir?(): string }; version?: string };
  registerContextEngine(id: string, factory: (context: unknown) => object): unknown;
  on?(hook: "session_end", handler: (event: SessionEndEvent) => void): void;
  registerService?(service: { id: string; start(): void; stop(): void }): void;
  registerCommand?(command: object): void;
  registerGatewayMethod?(method: string, handler: (context: GatewayCall) => Promise<void>, options?: object): void;
}

interface GatewayCall {
  respond(ok: boolean, payload?: unknown, error?: unknown): void;
}

/** One a process and configuration: the host may evaluate this module more than once. */
const RUNTIMES = Symbol.for("contextwire-openclaw.runtimes");

/** Registers everything. Opens nothing yet: the gateway's start does, or the first call. */
export function register(api: PluginApi): void {
  const config = readConfig(api.pluginConfig);
  const slot = (): string | undefined => api.config?.plugins?.slots?.contextEngine;
  let held: Runtime | undefined;
  const runtime = (): Runtime => (held ??= runtimeOf(api, config));
  api.registerContextEngine("contextwire", () => engineObject(runtime()));
  // Services run in a gateway; a command that only looks at plugins starts no engine and delivers nothing.
  api.registerService?.({
    id: "contextwire",
    start: () => {
      if (slot() === "contextwire") runtime().start();
    },
    stop: () => held?.pause(),
  });
  if (config.eraseDeleted) {
    api.on?.("session_end", (event) => {
      if (event.reason !== "deleted") return;
      sessionEnded(runtime(), event);
      if (slot() === "contextwire") runtime().start();
    });
  }
  registerReports(api, runtime, slot);
}

function runtimeOf(api: PluginApi, config: Config): Runtime {
  const holder = globalThis as unknown as Record<symbol, Map<string, Runtime> | undefined>;
  const runtimes = (holder[RUNTIMES] ??= new Map());
  const key = createHash("sha256").update(JSON.stringify(config)).digest("hex");
  let runtime = runtimes.get(key);
  if (runtime === undefined) {
    for (const other of runtimes.values()) other.retire();
    runtimes.clear();
    runtime = new Runtime({
      config,
      logger: api.logger,
      stateDir: api.runtime?.state?.resolveStateDir?.() ?? process.env["OPENCLAW_STATE_DIR"],
      hostVersion: api.runtime?.version ?? "",
      loadSdk,
    });
    runtimes.set(key, runtime);
  }
  return runtime;
}

/** The engine of one turn. It has every method that any engine may have: absence is answered by the hook. */
export function engineObject(runtime: Runtime): object {
  const turn = new Turn(runtime);
  return {
    get info() {
      return runtime.info();
    },
    bootstrap: (params: SessionParams) => bootstrap(turn, params),
    maintain: (params: SessionParams) => maintain(turn, params),
    assemble: (params: AssembleParams) => assemble(turn, params),
    compact: (params: CompactParams) => compact(turn, params),
    commitTurn: (params: CommitParams) => commitTurn(turn, params),
    prepareSubagentSpawn: (params: SpawnParams) => prepareSubagentSpawn(turn, params),
    onSubagentEnded: async (params: SubagentEndParams) => subagentEnded(runtime, params),
    // The host calls it for turns without a recorder only; the log brings such a turn with the others.
    ingest: async (params: SessionParams) => {
      turn.session(params);
      return { ingested: false };
    },
    dispose: async () => turn.dispose(),
  };
}

function registerReports(api: PluginApi, runtime: () => Runtime, slot: () => string | undefined): void {
  api.registerCommand?.({
    name: "contextwire",
    description: "Context engine: `status` says what is active and why, `doctor` what is wrong; `--json` for scripts",
    acceptsArgs: true,
    requireAuth: true,
    handler: async ({ args }: { args?: string }) => ({ text: await report(runtime(), slot(), args ?? "") }),
  });
  api.registerGatewayMethod?.(
    "contextwire.status",
    async ({ respond }) => respond(true, status(runtime(), slot())),
    { scope: "operator.read" },
  );
  api.registerGatewayMethod?.(
    "contextwire.doctor",
    async ({ respond }) => respond(true, { findings: await doctor(runtime(), slot()) }),
    { scope: "operator.read" },
  );
}

/** What the command answers. */
export async function report(runtime: Runtime, slot: string | undefined, args: string): Promise<string> {
  const words = args.trim().split(/\s+/).filter((word) => word !== "");
  const isJson = words.includes("--json");
  const what = words.find((word) => !word.startsWith("-")) ?? "status";
  if (what === "status") {
    const found = status(runtime, slot);
    return isJson ? JSON.stringify(found) : statusText(found);
  }
  if (what === "doctor") {
    const findings = await doctor(runtime, slot);
    return isJson ? JSON.stringify({ findings }) : doctorText(findings);
  }
  return `there is no \`${what}\`; use /contextwire status or /contextwire doctor, with --json for scripts`;
}
