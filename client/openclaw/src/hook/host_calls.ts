// What serves an engine's calls back to the host, while their hook runs (R1.6, R1.7). An outcome is remembered by its
// id, so that a second try of the hook gets the first one's.

import { AsyncLocalStorage } from "node:async_hooks";
import { create } from "@bufbuild/protobuf";
import {
  type DelegateCompaction,
  type HostCall,
  type HostCallResult,
  HostCallResultSchema,
  type LlmComplete,
  type ReadTranscript,
  type RewriteTranscriptEntries,
} from "contextwire-proto/v1/host_call";
import { CompactionTarget } from "contextwire-proto/v1/compaction";
import type { CompactAnswer, CompactParams, HostSdk, SessionParams } from "../host/types.ts";
import type { Lineage } from "../outbox/lineage.ts";
import type { Session } from "../session/session.ts";
import { stateOf, wireOf, wireState } from "../sync/list.ts";
import { resultToWire } from "../wire/compaction.ts";

type Outcome = HostCallResult["outcome"];

/** A failure that the engine is told by name. */
class CallRefused extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What a hook can do for its engine. */
export interface HostPowers {
  session: Session;
  params: SessionParams;
  sdk: HostSdk;
  lineage: Lineage;
  /** The hook's own parameters, where it may delegate compaction. */
  compact?: CompactParams;
}

/** Serves the calls of one hook. */
export class HostCalls {
  /** What the host's own compaction answered, when it ran. */
  delegated: CompactAnswer | undefined;
  private readonly powers: HostPowers;
  private readonly outcomes = new Map<string, Promise<Outcome>>();
  private isClosed = false;
  /** The host knows by its async context whose turn it is; a frame that arrives knows nothing of it. */
  private readonly inContext = AsyncLocalStorage.snapshot();

  constructor(powers: HostPowers) {
    this.powers = powers;
  }

  readonly serve = async (call: HostCall): Promise<HostCallResult> => {
    if (this.isClosed) return answer(call, refusal("HOOK_CLOSED", "the hook is over"));
    let outcome = this.outcomes.get(call.callId);
    if (outcome === undefined) {
      outcome = this.inContext(() => this.act(call));
      this.outcomes.set(call.callId, outcome);
    }
    return answer(call, await outcome);
  };

  /** Refuses further calls and waits for what is at work (R7.2). */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.allSettled(this.outcomes.values());
  }

  private async act({ call }: HostCall): Promise<Outcome> {
    try {
      switch (call.case) {
        case "llmComplete":
          return { case: "llmComplete", value: await this.complete(call.value) };
        case "rewriteTranscriptEntries":
          return { case: "rewriteTranscriptEntries", value: await this.rewrite(call.value) };
        case "readTranscript":
          return { case: "readTranscript", value: this.read(call.value) };
        case "delegateCompaction":
          return { case: "delegateCompaction", value: await this.delegate(call.value) };
        default:
          return refusal("UNSUPPORTED", "this host does not know the call");
      }
    } catch (error) {
      if (error instanceof CallRefused) return refusal(error.reason, error.message);
      return refusal("FAILED", error instanceof Error ? error.message : String(error));
    }
  }

  private async complete(asked: LlmComplete): Promise<never> {
    const llm = this.powers.params.runtimeContext?.["llm"] as { complete?(params: object): Promise<LlmAnswer> } | undefined;
    if (typeof llm?.complete !== "function") throw new CallRefused("UNSUPPORTED", "this hook has no model");
    const { messages, systemPrompt, model, maxTokens, temperature, purpose } = asked;
    const said = await llm.complete({
      messages: messages.map(({ role, content }) => ({ role, content })),
      ...given({ systemPrompt, model, temperature, purpose }),
      ...(maxTokens === undefined ? {} : { maxTokens: Number(maxTokens) }),
      ...(this.powers.params.abortSignal === undefined ? {} : { signal: this.powers.params.abortSignal }),
    });
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens, costUsd } = said.usage ?? {};
    const counts = Object.entries({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens });
    const usage = counts.filter(([, value]) => value !== undefined).map(([key, value]) => [key, BigInt(Math.floor(value ?? 0))]);
    return {
      text: said.text,
      provider: said.provider ?? "",
      model: said.model ?? "",
      usage: { ...Object.fromEntries(usage), ...given({ costUsd }) },
      ...given({ stopReason: said.stopReason }),
    } as never;
  }

  private async rewrite(asked: RewriteTranscriptEntries): Promise<never> {
    const { session, params, lineage } = this.powers;
    const act = params.runtimeContext?.["rewriteTranscriptEntries"];
    if (typeof act !== "function") throw new CallRefused("UNSUPPORTED", "this hook may not rewrite the transcript");
    await this.pump();
    const head = session.log.list.state;
    const expected = asked.expected === undefined ? undefined : stateOf(asked.expected);
    if (expected !== undefined && (expected.count !== head.count || expected.chain !== head.chain)) {
      throw new CallRefused("STALE", "the log has changed since");
    }
    const before = session.log.natively();
    const replacements = asked.replacements
      .map(({ entryId, message }) => ({ entryId: session.log.nativeOf(entryId) ?? entryId, message: parsed(message?.payload) }))
      .filter(({ entryId }) => entryId !== "");
    const suffix = asked.allowedSuffix?.entryIds.map((id) => session.log.nativeOf(id) ?? id);
    const done = await act({ replacements, ...given({ allowedRewriteSuffixEntryIds: suffix }) });
    if (done.changed === true) {
      session.log.restart();
      await this.pump();
      lineage.rewritten(session.id, before, session.log.natively());
      session.log.restart();
      await this.pump();
    }
    return {
      changed: done.changed === true,
      bytesFreed: BigInt(done.bytesFreed ?? 0),
      rewrittenEntries: BigInt(done.rewrittenEntries ?? 0),
      head: wireState(session.log.list.state),
      ...given({ reason: done.reason }),
    } as never;
  }

  private read({ cursor, maxBytes }: ReadTranscript): never {
    const list = this.powers.session.log.list;
    const [at, chain] = (cursor ?? "0 ").split(" ");
    const from = Number(at);
    if (cursor !== undefined && list.stateAt(from).chain !== chain) throw new CallRefused("CURSOR_LOST", "the log was rewritten");
    const limit = Math.max(1024, Number(maxBytes)) - 1024;
    const messages = [];
    let bytes = 0;
    let next = from;
    for (; next < list.length; next += 1) {
      const item = list.items[next];
      if (item === undefined) break;
      const message = wireOf(item, limit);
      if (bytes > 0 && bytes + message.payload.length > limit) break;
      bytes += message.payload.length + 512;
      messages.push(message);
    }
    const more = next < list.length ? { nextCursor: `${next} ${list.stateAt(next).chain}` } : {};
    return { messages, head: wireState(list.state), ...more } as never;
  }

  private async delegate(asked: DelegateCompaction): Promise<never> {
    const { compact, sdk, session } = this.powers;
    if (compact === undefined) throw new CallRefused("UNSUPPORTED", "only Compact can delegate");
    const { tokenBudget, currentTokenCount, customInstructions, force, compactionTarget } = asked;
    const done = await sdk.delegateCompaction({
      ...compact,
      force,
      compactionTarget: compactionTarget === CompactionTarget.THRESHOLD ? "threshold" : "budget",
      ...(tokenBudget === undefined ? {} : { tokenBudget: Number(tokenBudget) }),
      ...(currentTokenCount === undefined ? {} : { currentTokenCount: Number(currentTokenCount) }),
      ...given({ customInstructions }),
    });
    this.delegated = done;
    await this.pump();
    return {
      ok: done.ok,
      compacted: done.compacted,
      ...given({ reason: done.reason }),
      ...given({ result: resultToWire(done) }),
      head: wireState(session.log.list.state),
    } as never;
  }

  private async pump(): Promise<void> {
    const { session } = this.powers;
    if (session.scope !== undefined) await session.log.pump(session.scope);
  }
}

interface LlmAnswer {
  text: string;
  provider?: string;
  model?: string;
  stopReason?: string;
  usage?: Partial<Record<"inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens" | "totalTokens" | "costUsd", number>>;
}

function answer(call: HostCall, outcome: Outcome): HostCallResult {
  return create(HostCallResultSchema, { callId: call.callId, outcome } as never);
}

function refusal(reason: string, message: string): Outcome {
  const text = message.slice(0, 400);
  return { case: "error", value: { reason, message: text, retryable: false } as never };
}

function parsed(payload: Uint8Array | undefined): unknown {
  return JSON.parse(Buffer.from(payload ?? []).toString("utf8"));
}

/** The fields that are there. */
export function given<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as never;
}
