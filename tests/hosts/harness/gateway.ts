// A real OpenClaw gateway in a home of its own, with the plugin as a user would install it, and a model that is told
// what to say.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CANARIES, configOf } from "./config.ts";
import { REPOSITORY, openclaw } from "./paths.ts";
import { Beside, type Ended, run } from "./process.ts";
import { until } from "./wait.ts";

/** What the host's log says when an engine was not used. */
const COMPLAINTS = [/degraded to "legacy"/, /assemble failed/, /remains queued/, /quarantining/, /bootstrap failed/, /maintain failed/];

/** Settings of one gateway. */
export interface GatewayOptions {
  folder: string;
  modelPort: number;
  /** `plugins.entries.contextwire.config`; absent: the host's own engine. */
  plugin: Record<string, unknown> | undefined;
  contextWindow?: number;
  /** What a compaction of the host leaves as it is; absent: the host's default, which short sessions never reach. */
  keepRecentTokens?: number;
  /** For the gateway's process alone, not for commands. */
  env?: Record<string, string>;
}

/** The gateway. */
export class Gateway {
  readonly home: string;
  private readonly options: GatewayOptions;
  private port = 0;
  private process: Beside | undefined;
  private keys = 0;

  constructor(options: GatewayOptions) {
    this.options = options;
    this.home = join(options.folder, "home");
    installPlugin(join(options.folder, "plugin"));
  }

  get log(): string {
    return readFileSync(join(this.options.folder, "gateway.log"), "utf8");
  }

  /** Lines of the log that say that the engine was not used. */
  get complaints(): string[] {
    return this.log.split("\n").filter((line) => COMPLAINTS.some((complaint) => complaint.test(line)));
  }

  async start(): Promise<void> {
    this.port = await freePort();
    this.writeConfig();
    const log = join(this.options.folder, "gateway.log");
    this.process = new Beside(process.execPath, [openclaw(), "gateway", "run"], { ...this.environment(), ...this.options.env }, log);
    await until("the gateway is ready", async () => {
      if (this.process?.isRunning === false) throw new Error(`the gateway ended:\n${this.log.slice(-4000)}`);
      const health = await fetch(`http://127.0.0.1:${this.port}/healthz`).catch(() => undefined);
      return health?.ok;
    }, 240_000);
  }

  async stop(): Promise<void> {
    await this.process?.stop();
  }

  signal(signal: NodeJS.Signals): void {
    this.process?.child.kill(signal);
  }

  /** One turn of a user. */
  async say(session: string, message: string): Promise<Ended> {
    return this.command(["agent", "--session-key", key(session), "--message", message]);
  }

  /** A message as a chat user sends it: slash commands work. */
  async chat(session: string, message: string): Promise<unknown> {
    this.keys += 1;
    return this.call("chat.send", { sessionKey: key(session), message, idempotencyKey: `k${this.keys}` });
  }

  async compact(session: string): Promise<{ ok?: boolean; compacted?: boolean; reason?: string }> {
    const { stdout, stderr } = await this.command(["sessions", "compact", key(session), "--json"]);
    return JSON.parse(stdout === "" ? stderr : stdout) as object;
  }

  /** Calls a method of the gateway. */
  async call<T>(method: string, params: object = {}): Promise<T> {
    const { code, stdout, stderr } = await this.command(["gateway", "call", method, "--params", JSON.stringify(params), "--json"]);
    if (code !== 0) throw new Error(`${method}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as T;
  }

  async command(args: string[]): Promise<Ended> {
    return run(process.execPath, [openclaw(), ...args], this.environment());
  }

  /** The host's own store of transcripts. */
  get store(): string {
    return join(this.home, "state/agents/main/agent/openclaw-agent.sqlite");
  }

  /** Ids of all sessions that the host stored something of. */
  sessionIds(): string[] {
    if (!existsSync(this.store)) return [];
    const db = new DatabaseSync(this.store, { readOnly: true });
    try {
      return db.prepare("SELECT DISTINCT session_id AS id FROM transcript_events").all().map((row) => String(row["id"]));
    } finally {
      db.close();
    }
  }

  private environment(): NodeJS.ProcessEnv {
    const { home } = this;
    return {
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      HOME: home,
      OPENCLAW_HOME: home,
      OPENCLAW_STATE_DIR: join(home, "state"),
      OPENCLAW_CONFIG_PATH: join(home, "openclaw.json"),
      OPENCLAW_GATEWAY_TOKEN: CANARIES.gatewayToken,
      OPENCLAW_SKIP_CHANNELS: "1",
      OPENCLAW_SKIP_CRON: "1",
      OPENCLAW_DISABLE_BONJOUR: "1",
      OPENCLAW_NO_AUTO_UPDATE: "1",
      NO_COLOR: "1",
    };
  }

  private writeConfig(): void {
    for (const folder of ["state", "workspace"]) mkdirSync(join(this.home, folder), { recursive: true });
    const config = configOf(this.options, { home: this.home, port: this.port });
    writeFileSync(join(this.home, "openclaw.json"), JSON.stringify(config, null, 2));
  }
}

/** The key of a session by a short name. */
export function key(session: string): string {
  return session.startsWith("agent:") ? session : `agent:main:${session}`;
}

/** The files that the npm package has, and nothing beside them. */
function installPlugin(folder: string): void {
  mkdirSync(join(folder, "dist"), { recursive: true });
  for (const file of ["package.json", "openclaw.plugin.json", "dist/index.js"]) {
    copyFileSync(join(REPOSITORY, "client/openclaw", file), join(folder, file));
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
