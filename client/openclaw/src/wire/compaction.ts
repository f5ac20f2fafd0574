// Results of a compaction, between the host's object and the wire.

import type { CompactResult } from "contextwire-proto/v1/compact";
import type { SessionTarget } from "contextwire-proto/v1/call";
import type { CompactAnswer, SessionTargetParams } from "../host/types.ts";
import { json } from "./runtime_context.ts";

/** The `result` of a host's answer as it travels; absent where there is none. */
export function resultToWire({ result }: CompactAnswer): object | undefined {
  if (result === undefined) return undefined;
  const { summary, firstKeptEntryId, tokensBefore, tokensAfter, details, sessionId, sessionTarget } = result;
  const wire: Record<string, unknown> = { tokensBefore: tokens(tokensBefore) ?? 0n };
  if (summary !== undefined) wire["summary"] = summary;
  if (firstKeptEntryId !== undefined) wire["firstKeptEntryId"] = firstKeptEntryId;
  if (tokens(tokensAfter) !== undefined) wire["tokensAfter"] = tokens(tokensAfter);
  const bytes = json(details);
  if (bytes !== undefined) wire["details"] = bytes;
  if (sessionId !== undefined) wire["sessionId"] = sessionId;
  if (sessionTarget !== undefined) wire["sessionTarget"] = targetToWire(sessionTarget);
  return wire;
}

/** An engine's answer as the host takes it. `nativeOf` turns lineage ids into the host's. */
export function answerOf(answer: CompactResult, nativeOf: (id: string) => string | undefined): CompactAnswer {
  const { ok, compacted, reason, result } = answer;
  const out: CompactAnswer = { ok, compacted };
  if (reason !== undefined) out.reason = reason;
  if (result === undefined) return out;
  const kept = result.firstKeptEntryId;
  out.result = { tokensBefore: Number(result.tokensBefore) };
  if (result.summary !== undefined) out.result.summary = result.summary;
  if (kept !== undefined) out.result.firstKeptEntryId = nativeOf(kept) ?? kept;
  if (result.tokensAfter !== undefined) out.result.tokensAfter = Number(result.tokensAfter);
  if (result.details !== undefined) out.result.details = parsed(result.details);
  if (result.sessionId !== undefined) out.result.sessionId = result.sessionId;
  if (result.sessionTarget !== undefined) out.result.sessionTarget = targetOf(result.sessionTarget);
  return out;
}

/** The host's typed identity of a session, as it travels. */
export function targetToWire(target: SessionTargetParams): SessionTarget {
  const { agentId, sessionId, sessionKey, storePath, threadId } = target;
  const wire: SessionTarget = { $typeName: "contextengine.v1.SessionTarget" };
  if (agentId !== undefined) wire.agentId = agentId;
  if (sessionId !== undefined) wire.sessionId = sessionId;
  if (sessionKey !== undefined) wire.sessionKey = sessionKey;
  if (storePath !== undefined) wire.storePath = storePath;
  if (threadId !== undefined) wire.threadId = String(threadId);
  return wire;
}

function targetOf({ $typeName: _, $unknown: __, ...target }: SessionTarget): SessionTargetParams {
  return Object.fromEntries(Object.entries(target).filter(([, value]) => value !== undefined));
}

function tokens(value: number | undefined): bigint | undefined {
  return value === undefined || !Number.isFinite(value) || value < 0 ? undefined : BigInt(Math.floor(value));
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
}
