// A real OpenClaw gateway in a home of its own, with the plugin as a user would install it, and a model that is told
// what to say.

import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CODEX_PLUGIN, npmEnvironment } from "./codex_plugin.ts";
import { CANARIES, configOf } from "./config.ts";
import { REPOSITORY, openclaw } from "./paths.ts";
import { Beside, type Ended, run } from "./process.ts";
import { until } from "./wait.ts";

/** What the host's log says when an engine was not used. */
const COMPLAINTS = [/degraded to "legacy"/, /assemble failed/, /remains queued/, /quarantining/, /bootstrap failed/, /maintain failed/];

/** Commands give up after ten seconds by themselves, which a busy machine takes. */
const PATIENT = ["--timeout", "300000"];

/** What a command says when the gateway was too busy to take its call. */
const UNREACHED = /Gateway not reachable|connection closed|gateway timeout|handshake/i;
const COMMAND_TRIES = 4;
const START_TRIES = 3;

/** Settings of one gateway. */
export interface GatewayOptions {
  folder: string;
  modelPort: number;
  /** `plugins.entries.contextwire.config`; absent: the host's own engine. */
  plugin: Record<string, unknown> | undefined;
  contextWindow?: number;
  /** What a compaction of the host leaves as it is; absent: the host's default, which short sessions never reach. */
  keepRecentTokens?: number;
  /** Turns run on the Codex harness; its plugin is installed at the first start. */
  codex?: boolean;
  /** For the gateway's process alone, not for commands. */
  env?: Record<string, string>;
}

/** What the host says of a compaction. */
export interface Compacted {
  ok?: boolean;
  compacted?: boolean;
  reason?: string;
  error?: string;
}

/** The gateway. */
export class Gateway {
  readonly home: string;
  private readonly options: GatewayOptions;
  private port = 0;
  private process: Beside | undefined;
  private keys = 0;
  private hasCodex = false;

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
    await this.installCodex();
    for (let tried = 1; !(await this.comesUp()); tried += 1) {
      if (tried === START_TRIES) throw new Error(`the gateway ended ${tried} times at its start:\n${this.log.slice(-4000)}`);
    }
  }

  /** False when the host gave up by itself: its start has short limits of its own, which a busy machine breaks. */
  private async comesUp(): Promise<boolean> {
    this.port = await freePort();
    this.writeConfig();
    const log = join(this.options.folder, "gateway.log");
    const before = existsSync(log) ? this.log.length : 0;
    const started = new Beside(process.execPath, [openclaw(), "gateway", "run"], { ...this.environment(), ...this.codexKeys(), ...this.options.env }, log);
    this.process = started;
    const how = await until("the gateway is ready", async () => {
      if (!started.isRunning) return "ended";
      const health = await fetch(`http://127.0.0.1:${this.port}/healthz`).catch(() => undefined);
      // It answers before it has loaded what a turn needs.
      return health?.ok === true && this.log.slice(before).includes("[gateway] ready") && "ready";
    }, 600_000);
    return how === "ready";
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await this.process?.stop(signal);
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

  /** Compacts a session, once no run of it goes on any more: the host refuses it until then, and says so. */
  async compact(session: string): Promise<Compacted> {
    return until(`a compaction of ${session}`, async () => {
      const { stdout, stderr } = await this.command(["sessions", "compact", key(session), "--json", ...PATIENT]);
      const done = JSON.parse(stdout === "" ? stderr : stdout) as Compacted;
      return done.error?.includes("has an active run") !== true && done;
    });
  }

  /** Calls a method of the gateway. */
  async call<T>(method: string, params: object = {}): Promise<T> {
    const { code, stdout, stderr } = await this.command(["gateway", "call", method, "--params", JSON.stringify(params), "--json", ...PATIENT]);
    if (code !== 0) throw new Error(`${method}: ${stderr}${stdout}`);
    return JSON.parse(stdout) as T;
  }

  /** Runs a command of the host, again where the gateway took no notice of it. A turn may run twice then, which no case
   * minds: what counts is that the engine has what the host has. */
  async command(args: string[]): Promise<Ended> {
    for (let tried = 1; ; tried += 1) {
      const ended = await run(process.execPath, [openclaw(), ...args], this.environment());
      if (ended.code === 0 || tried === COMMAND_TRIES || !UNREACHED.test(ended.stderr + ended.stdout)) return ended;
    }
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

  private async installCodex(): Promise<void> {
    if (this.options.codex !== true || this.hasCodex) return;
    this.port = await freePort();
    // A plugin that the configuration names and that is not there, the host installs itself, in a version that is not
    // published.
    this.writeConfig({ ...this.options, codex: false });
    const args = ["plugins", "install", CODEX_PLUGIN, "--force", "--accept-capabilities"];
    const env = { ...this.environment(), ...npmEnvironment() };
    const { code, stdout, stderr } = await run(process.execPath, [openclaw(), ...args], env);
    if (code !== 0) throw new Error(`${CODEX_PLUGIN} could not be installed:\n${stderr}${stdout}`);
    this.hasCodex = true;
  }

  /** The native program asks for a key, whoever its model is; and the host looks after what it installed. */
  private codexKeys(): NodeJS.ProcessEnv {
    const keys = { OPENAI_API_KEY: CANARIES.apiKey, CODEX_API_KEY: CANARIES.apiKey };
    return this.options.codex === true ? { ...npmEnvironment(), ...keys } : {};
  }

  private writeConfig(options = this.options): void {
    for (const folder of ["state", "workspace"]) mkdirSync(join(this.home, folder), { recursive: true });
    const config = configOf(options, { home: this.home, port: this.port });
    const file = join(this.home, "openclaw.json");
    // What the host writes of itself stays: it takes a file without that for a broken one, and restores an older one.
    const known = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as { meta?: object }) : {};
    writeFileSync(file, JSON.stringify({ ...config, ...(known.meta === undefined ? {} : { meta: known.meta }) }, null, 2));
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
