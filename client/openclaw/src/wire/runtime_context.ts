// What of the host's runtime context may travel: named fields, one by one. It also holds the host's whole
// configuration, with API keys and the gateway's token, so nothing is copied that is not named here.

import { create } from "@bufbuild/protobuf";
import { JSON_DEPTH } from "contextwire-proto";
import { type RuntimeContext, RuntimeContextSchema } from "contextwire-proto/v1/call";
import { NEVER_FORWARDED } from "../config.ts";

type Raw = Record<string, unknown>;

/** The host's keys of what it knows about the provider's prompt cache. */
const CACHE_KEYS = ["retention", "lastCallUsage", "observation", "lastCacheTouchAt", "expiresAt"];

/** Picks the fields of the contract, and the keys that the operator allowed. Absent where none is there. */
export function runtimeContext(raw: Raw | undefined, allowed: readonly string[]): RuntimeContext | undefined {
  if (raw === undefined || raw === null) return undefined;
  const context = create(RuntimeContextSchema, {
    ...text("cwd", raw["cwd"]),
    ...text("agentHarnessId", raw["agentHarnessId"]),
    ...text("provider", raw["provider"]),
    ...text("modelId", raw["modelId"] ?? raw["model"]),
    ...text("trigger", raw["trigger"]),
    ...text("forceReason", raw["forceReason"]),
    ...text("preflightTrigger", raw["preflightCompactionTrigger"]),
    ...text("transcriptStorage", object(raw["transcriptStorage"])?.["kind"]),
    ...count("tokenBudget", raw["tokenBudget"]),
    ...count("currentTokenCount", raw["currentTokenCount"]),
    ...count("modelContextWindow", raw["modelContextWindow"]),
    ...small("attempt", raw["attempt"]),
    ...small("maxAttempts", raw["maxAttempts"]),
  });
  const deferred = raw["allowDeferredCompactionExecution"];
  if (typeof deferred === "boolean") context.allowDeferredCompactionExecution = deferred;
  const cache = promptCache(object(raw["promptCache"]));
  if (cache !== undefined) context.promptCache = cache;
  for (const key of allowed) {
    if (NEVER_FORWARDED.has(key)) continue;
    const bytes = json(raw[key]);
    if (bytes !== undefined) context.extra[key] = bytes;
  }
  return context;
}

function promptCache(raw: Raw | undefined): Uint8Array | undefined {
  if (raw === undefined) return undefined;
  const picked = CACHE_KEYS.filter((key) => raw[key] !== undefined).map((key) => [key, raw[key]]);
  return picked.length === 0 ? undefined : json(Object.fromEntries(picked));
}

/** A value as JSON; none where it is too deep, or no JSON at all. */
export function json(value: unknown): Uint8Array | undefined {
  if (value === undefined || typeof value === "function" || !isShallow(value, JSON_DEPTH)) return undefined;
  const text = JSON.stringify(value);
  return text === undefined ? undefined : Buffer.from(text, "utf8");
}

function isShallow(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((inner) => isShallow(inner, left - 1));
}

function object(value: unknown): Raw | undefined {
  return typeof value === "object" && value !== null ? (value as Raw) : undefined;
}

function text<K extends string>(key: K, value: unknown): { [P in K]?: string } {
  return (typeof value === "string" && value !== "" ? { [key]: value } : {}) as { [P in K]?: string };
}

function count<K extends string>(key: K, value: unknown): { [P in K]?: bigint } {
  const usable = typeof value === "number" && Number.isFinite(value) && value >= 0;
  return (usable ? { [key]: BigInt(Math.floor(value)) } : {}) as { [P in K]?: bigint };
}

function small<K extends string>(key: K, value: unknown): { [P in K]?: number } {
  const usable = typeof value === "number" && Number.isInteger(value) && value > 0 && value < 2 ** 31;
  return (usable ? { [key]: value } : {}) as { [P in K]?: number };
}
