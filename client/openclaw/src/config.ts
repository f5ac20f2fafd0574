// The plugin's configuration: `plugins.entries.contextwire.config` of the host.

/** How an engine process is started by the plugin. */
export interface SpawnConfig {
  command: string;
  args: string[];
  /** Further environment; the engine gets no more of the host's than it needs. */
  env: Record<string, string>;
}

/** What the plugin says of the engine before it was ever seen (R7.12). */
export interface ExpectedEngine {
  ownsCompaction: boolean;
  turnMaintenanceMode: "foreground" | "background";
}

/** All settings, with their defaults. */
export interface Config {
  /** `unix:/path` or a loopback `http://host:port`; absent with `spawn`. */
  target: string | undefined;
  spawn: SpawnConfig | undefined;
  engine: ExpectedEngine;
  /** What answers an assembly that the engine does not: its last good result joined to the list, or the list. */
  fallback: "last-good" | "legacy";
  /** Who compacts when the engine cannot. Absent: `legacy`, unless the engine owns compaction or was never seen. */
  compactFallback: "legacy" | "rethrow" | undefined;
  /** Keys of `runtimeContext` that the operator wants the engine to see besides the ones of the contract. */
  runtimeContextKeys: string[];
  /** Whether the host's memory guidance is added when the engine does not place it. */
  memoryPrompt: "append" | "engine";
  /** Deadline of an assembly, in milliseconds. */
  assembleDeadlineMs: number;
  /** Whether a session that is deleted at the host is erased at the engine. */
  eraseDeleted: boolean;
  /** Folder of the plugin's own file; absent: in the host's state folder. */
  stateDir: string | undefined;
}

/** Thrown with every problem at once. */
export class ConfigError extends Error {
  constructor(problems: string[]) {
    super(`plugins.entries.contextwire.config: ${problems.join("; ")}`);
    this.name = "ConfigError";
  }
}

/** Keys that hold the host's configuration, keys or tokens: no operator can allow them by mistake. */
export const NEVER_FORWARDED = new Set([
  "config",
  "sessionEntry",
  "skillsSnapshot",
  "runtimeAuthPlan",
  "authProfileId",
  "authProfileIdSource",
  "llm",
  "rewriteTranscriptEntries",
  "abortSignal",
]);

/** Names of all settings; the manifest's schema has the same. */
export const SETTINGS = [
  "target",
  "spawn",
  "engine",
  "fallback",
  "compactFallback",
  "runtimeContextKeys",
  "memoryPrompt",
  "assembleDeadlineMs",
  "eraseDeleted",
  "stateDir",
];

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)(:\d+)$/;

/** Reads the configuration.
 * @throws ConfigError when something in it cannot be used. */
export function readConfig(raw: Record<string, unknown> | undefined): Config {
  const given = raw ?? {};
  const problems: string[] = [];
  for (const key of Object.keys(given).filter((key) => !SETTINGS.includes(key))) {
    problems.push(`\`${key}\` is not a setting; there are ${SETTINGS.join(", ")}`);
  }
  const config: Config = {
    target: optionalText(given, "target", problems),
    spawn: spawnOf(given["spawn"], problems),
    engine: expectedOf(given["engine"], problems),
    fallback: choice(given, "fallback", ["last-good", "legacy"], problems) ?? "last-good",
    compactFallback: choice(given, "compactFallback", ["legacy", "rethrow"], problems),
    runtimeContextKeys: texts(given, "runtimeContextKeys", problems),
    memoryPrompt: choice(given, "memoryPrompt", ["append", "engine"], problems) ?? "append",
    assembleDeadlineMs: number(given, "assembleDeadlineMs", 5000, problems),
    eraseDeleted: flag(given, "eraseDeleted", problems),
    stateDir: optionalText(given, "stateDir", problems),
  };
  if ((config.target === undefined) === (config.spawn === undefined)) {
    problems.push("set either `target` (`unix:/path/to/engine.sock`) or `spawn` (`{ command, args }`)");
  }
  if (config.target !== undefined && addressOf(config.target) === undefined) {
    problems.push("`target` must be `unix:/path` or a loopback address such as `http://127.0.0.1:50551`");
  }
  for (const key of config.runtimeContextKeys.filter((key) => NEVER_FORWARDED.has(key))) {
    problems.push(`\`runtimeContextKeys\` must not name \`${key}\`: it holds secrets or functions of the host`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** The address as the gRPC library takes it. Plaintext never leaves the machine, so others are none. */
export function addressOf(target: string): string | undefined {
  if (target.startsWith("unix:")) {
    const path = target.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    return path.startsWith("/") ? `unix:${path}` : undefined;
  }
  const host = target.replace(/^http:\/\//, "").replace(/\/$/, "");
  return LOOPBACK.test(host) ? host : undefined;
}

function spawnOf(value: unknown, problems: string[]): SpawnConfig | undefined {
  if (value === undefined) return undefined;
  const given = objectOf(value);
  const command = given?.["command"];
  if (given === undefined || typeof command !== "string" || command === "") {
    problems.push("`spawn.command` must name a program");
    return undefined;
  }
  const env = Object.entries(objectOf(given["env"]) ?? {}).map(([key, text]) => [key, String(text)] as const);
  return { command, args: texts(given, "args", problems), env: Object.fromEntries(env) };
}

function expectedOf(value: unknown, problems: string[]): ExpectedEngine {
  const given = objectOf(value) ?? {};
  const owns = given["ownsCompaction"] ?? false;
  if (typeof owns !== "boolean") problems.push("`engine.ownsCompaction` must be true or false");
  const mode = choice(given, "turnMaintenanceMode", ["foreground", "background"], problems) ?? "foreground";
  return { ownsCompaction: owns === true, turnMaintenanceMode: mode };
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}

function optionalText(given: Record<string, unknown>, key: string, problems: string[]): string | undefined {
  const value = given[key];
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  problems.push(`\`${key}\` must be a text`);
  return undefined;
}

function texts(given: Record<string, unknown>, key: string, problems: string[]): string[] {
  const value = given[key] ?? [];
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
  problems.push(`\`${key}\` must be a list of texts`);
  return [];
}

function flag(given: Record<string, unknown>, key: string, problems: string[]): boolean {
  const value = given[key] ?? false;
  if (typeof value !== "boolean") problems.push(`\`${key}\` must be true or false`);
  return value === true;
}

function number(given: Record<string, unknown>, key: string, fallback: number, problems: string[]): number {
  const value = given[key] ?? fallback;
  if (typeof value === "number" && value >= 100 && value <= 120_000) return value;
  problems.push(`\`${key}\` must be milliseconds from 100 to 120000`);
  return fallback;
}

function choice<const T extends string>(
  given: Record<string, unknown>,
  key: string,
  allowed: readonly T[],
  problems: string[],
): T | undefined {
  const value = given[key];
  if (value === undefined) return undefined;
  if (allowed.includes(value as T)) return value as T;
  problems.push(`\`${key}\` must be one of ${allowed.join(", ")}`);
  return undefined;
}
