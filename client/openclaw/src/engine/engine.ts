// The engine as the hooks see it: described, guarded by a breaker, tried again where that is safe, told in the order of
// the protocol who calls.

import { createHmac, randomBytes } from "node:crypto";
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { MESSAGE_BYTES, type Rpc, STREAM_TIMEOUT_SLACK_MS, adminRpc, ageTo, methodSince, rpc, share } from "contextwire-proto";
import { EraseSessionRequestSchema, type EraseSessionResponse } from "contextwire-proto/v1/admin";
import { type CallContext, CallContextSchema, type Reply } from "contextwire-proto/v1/call";
import type { DescribeResponse } from "contextwire-proto/v1/describe";
import type { HostCall, HostCallResult } from "contextwire-proto/v1/host_call";
import type { Session } from "../session/session.ts";
import { hookId } from "../session/session.ts";
import { Book } from "../sync/book.ts";
import type { Peer, Upload } from "../sync/upload.ts";
import { wireState } from "../sync/list.ts";
import { Breaker, type Outcome } from "../wire/breaker.ts";
import type { Channel } from "../wire/channel.ts";
import { type HostFrame, exchange } from "../wire/exchange.ts";
import { HookFailure, asFailure } from "../wire/failure.ts";
import { type Acquaintance, implementsMethod, keepsMirrors, minorOf } from "./description.ts";

const MAX_TRIES = 3;
/** An erasure searches the whole store for what it removed. */
const ERASE_MS = 120_000;
const RETRY_MS = 50;
/** A refusal that names an earlier hook's place in the order is answered with a higher one once (R7.9). */
const CONFLICT = "GENERATION_CONFLICT";

/** Who calls, and how. */
export interface CallFacts {
  session: Session;
  /** Whether the hook has an effect that somebody waits for: then it has a place in the order. */
  isOrdered: boolean;
  operation?: string;
  sessionTarget?: CallContext["session"] extends infer S | undefined ? (S extends { target?: infer T } ? T : never) : never;
  locator?: string;
  deadlineMs: number;
  idleMs?: number;
  signal?: AbortSignal | undefined;
  /** Stays the same when the same effect is asked for again. */
  hookId?: string;
}

/** What a streaming hook adds. */
export interface StreamFacts<S> extends CallFacts {
  /** The hook's own start, without its call; built anew for each try. */
  start(peer: Peer): { fields: S; upload: Upload };
  serve?(call: HostCall): Promise<HostCallResult>;
  /** Judges the answer as part of its try. */
  accept?(result: object): void;
}

/** Names of the streaming methods. */
export type StreamName = "bootstrap" | "assemble" | "compact" | "maintain";
/** Names of the unary methods. */
export type UnaryName = "commitTurn" | "prepareSubagentSpawn" | "resolveSubagentSpawn" | "endSubagent" | "dispose";

/** A failure that people may want to see. */
export interface LastFailure {
  hook: string;
  code: string;
  message: string;
  atMs: number;
}

/** One engine, of this process. */
export class Engine {
  readonly acquaintance: Acquaintance;
  readonly breaker = new Breaker();
  readonly book = new Book();
  lastFailure: LastFailure | undefined;
  answered = 0;
  failed = 0;
  private readonly channel: Channel;
  private readonly epoch: number;
  private readonly affinityKey: string;
  private readonly onChange: (text: string) => void;

  constructor(
    channel: Channel,
    acquaintance: Acquaintance,
    identity: { epoch: number; affinityKey: string },
    onChange: (text: string) => void,
  ) {
    this.channel = channel;
    this.acquaintance = acquaintance;
    this.epoch = identity.epoch;
    this.affinityKey = identity.affinityKey;
    this.onChange = onChange;
  }

  /** Calls a streaming hook.
   * @throws HookFailure, or the signal's reason when the caller gave up. */
  async stream<R extends { reply?: Reply | undefined }>(name: StreamName, facts: StreamFacts<object>): Promise<R> {
    const method = rpc(name) as unknown as Rpc<DescMessage, DescMessage>;
    return this.tries(method, facts, async (described, call, shareMs) => {
      const peer = this.peer(described, facts.session);
      const { fields, upload } = facts.start(peer);
      const startSchema = (method.input.field["start"] as { message: DescMessage }).message;
      const transcript = upload.begin();
      const start = create(startSchema, { call, ...fields, ...(transcript === undefined ? {} : { transcript }) } as never);
      const minor = minorOf(described);
      ageTo(startSchema, start, minor);
      const refuse = async (asked: HostCall): Promise<HostCallResult> => refused(asked);
      const result = await exchange<R>({
        open: () => this.channel.stream(method, this.metadata(facts.session), shareMs + STREAM_TIMEOUT_SLACK_MS) as never,
        frame: (frame: HostFrame) => create(method.input, { frame } as never),
        start,
        upload,
        shareMs,
        idleMs: Number(described.engine?.maxSilenceMs ?? facts.idleMs ?? 10_000),
        signal: facts.signal,
        serve: (asked) => (facts.serve ?? refuse)(asked),
      });
      facts.accept?.(result);
      return result;
    });
  }

  /** Calls a unary hook.
   * @throws HookFailure. */
  async unary<N extends UnaryName>(name: N, facts: CallFacts, fields: object): Promise<{ reply?: Reply | undefined }> {
    const method = rpc(name) as unknown as Rpc<DescMessage, DescMessage>;
    return this.tries(method, facts, async (described, call, shareMs) => {
      const request = create(method.input, { call, ...fields } as MessageInitShape<DescMessage>);
      ageTo(method.input, request, minorOf(described));
      return this.channel.unary(method, request, this.metadata(facts.session), shareMs) as Promise<{ reply?: Reply | undefined }>;
    });
  }

  /** Has everything of a session removed. No hook: it neither waits for the breaker nor counts there.
   * @throws HookFailure, METHOD_ABSENT where the engine cannot erase. */
  async erase(session: Pick<Session, "id" | "key">): Promise<EraseSessionResponse> {
    const method = adminRpc("eraseSession");
    const described = await this.acquaintance.ask(Date.now());
    if (methodSince(method.desc) > minorOf(described)) throw new HookFailure("absent", "the engine is too old to erase a session");
    const request = create(EraseSessionRequestSchema, { sessionId: session.id });
    return this.channel.unary(method, request, this.metadata(session), ERASE_MS);
  }

  /** Whether the engine is known to have a method; one that was never seen is asked. */
  hasMethod(name: string): boolean {
    const info = this.acquaintance.lastSeen?.engine;
    return info === undefined || implementsMethod(info, name);
  }

  private async tries<R extends { reply?: Reply | undefined }>(
    method: Rpc<DescMessage, DescMessage>,
    facts: CallFacts,
    attempt: (described: DescribeResponse, call: CallContext, shareMs: number) => Promise<unknown>,
  ): Promise<R> {
    const ends = Date.now() + share(facts.deadlineMs);
    const order = this.order(facts);
    const id = facts.hookId ?? hookId(Date.now());
    let before: HookFailure | undefined;
    for (let tried = 1; ; tried += 1) {
      const abandoned = facts.session.abandonedHooks;
      try {
        const result = await this.guarded(method, ends, (described, left) => {
          const call = this.callContext(facts, { id, order, tried, left, abandoned });
          return attempt(described, call, left);
        });
        facts.session.acknowledgeAbandoned(abandoned);
        this.learn(facts.session, (result as R).reply);
        return result as R;
      } catch (error) {
        if (facts.signal?.aborted === true) throw error;
        const failed = asFailure(error);
        // The circuit may open between two tries; what opened it tells more.
        const failure = failed.kind === "breaker-open" ? (before ?? failed) : failed;
        before = failure;
        const wait = this.again(failed, facts, order, tried);
        if (wait === undefined || Date.now() + wait >= ends) {
          this.note(method.name, failure);
          throw failure;
        }
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /** One try: past the breaker, to an engine that is described, and its end is judged. */
  private async guarded<R>(
    method: Rpc<DescMessage, DescMessage>,
    ends: number,
    run: (described: DescribeResponse, shareMs: number) => Promise<R>,
  ): Promise<R> {
    const ticket = this.breaker.admit(Date.now());
    if (ticket === undefined) throw new HookFailure("breaker-open", "the engine is left alone for a while");
    let outcome: Outcome = "unjudged";
    try {
      const described = await this.acquaintance.ask(Date.now());
      const isThere = implementsMethod(described.engine, method.name);
      if (!isThere || methodSince(method.desc) > minorOf(described)) {
        throw new HookFailure("absent", `the engine has no ${method.name}`);
      }
      const left = ends - Date.now();
      if (left <= 0) throw new HookFailure("deadline", "the deadline passed while the engine was asked who it is");
      const result = await run(described, left);
      outcome = "success";
      this.answered += 1;
      return result;
    } catch (error) {
      outcome = error instanceof HookFailure ? outcomeOf(error) : "unjudged";
      if (outcome === "failure") this.acquaintance.forget();
      throw error;
    } finally {
      if (this.breaker.settle(ticket, outcome, Date.now())) this.announce();
    }
  }

  /** How long to wait before another try; absent where none is safe, or of use (R7.8). */
  private again(failure: HookFailure, facts: CallFacts, order: Order, tried: number): number | undefined {
    if (failure.reason === CONFLICT && facts.isOrdered && !order.wasRaised) {
      const recorded = Number(failure.details["session_seq"] ?? 0);
      facts.session.seq = Math.max(facts.session.seq, recorded) + 1;
      order.seq = facts.session.seq;
      order.epoch = Math.max(order.epoch, Number(failure.details["host_epoch"] ?? 0));
      order.wasRaised = true;
      return 0;
    }
    const mayAgain = failure.kind === "unreachable" || failure.reason === "IN_PROGRESS" || isBusy(failure.reason);
    if (tried >= MAX_TRIES || !mayAgain) return undefined;
    return failure.retryAfterMs ?? RETRY_MS * 2 ** (tried - 1) * (0.5 + Math.random());
  }

  private order(facts: CallFacts): Order {
    if (facts.isOrdered) facts.session.seq += 1;
    return { epoch: this.epoch, seq: facts.session.seq, wasRaised: false };
  }

  private callContext(
    facts: CallFacts,
    { id, order, tried, left, abandoned }: { id: string; order: Order; tried: number; left: number; abandoned: string[] },
  ): CallContext {
    const { session } = facts;
    const call = create(CallContextSchema, {
      hookId: id,
      attempt: tried,
      budgetMs: BigInt(Math.max(1, Math.floor(left))),
      session: {
        sessionId: session.id,
        ...(session.key === undefined ? {} : { sessionKey: session.key }),
        ...(session.agentId === undefined ? {} : { agentId: session.agentId }),
        ...(facts.sessionTarget === undefined ? {} : { target: facts.sessionTarget }),
        ...(facts.locator === undefined ? {} : { locator: facts.locator }),
      },
      hostEpoch: BigInt(order.epoch),
      abandonedHooks: abandoned,
    });
    if (facts.operation !== undefined) call.operation = facts.operation;
    if (facts.isOrdered) call.sessionSeq = BigInt(order.seq);
    const log = session.owesLogHead ? session.log.known : session.log.list;
    if (log !== undefined && (log.length > 0 || session.owesLogHead)) call.logHead = wireState(log.state);
    return call;
  }

  /** An answer also settles what was owed, and tells what came too late (R7.2). */
  private learn(session: Session, reply: Reply | undefined): void {
    session.owesLogHead = false;
    const late = reply?.late ?? [];
    if (late.length === 0) return;
    session.refuseSuccessors(late);
    const names = [...new Set(late.map(({ method }) => method))].join(", ");
    this.onChange(`the engine had done a ${names} that this host gave up; what it made of it is not used`);
  }

  private peer(described: DescribeResponse, session: Session): Peer {
    const theirs = Number(described.limits?.maxMessageBytes ?? MESSAGE_BYTES);
    return {
      book: this.book,
      session: session.id,
      full: !keepsMirrors(described.engine),
      maxBytes: Math.min(theirs, MESSAGE_BYTES),
    };
  }

  private metadata(session: Pick<Session, "id" | "key">): Metadata {
    const metadata = new Metadata();
    const affinity = createHmac("sha256", this.affinityKey).update(session.key ?? session.id).digest("hex");
    metadata.set("contextengine-affinity", affinity);
    metadata.set("traceparent", `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-00`);
    return metadata;
  }

  private note(hook: string, failure: HookFailure): void {
    if (failure.kind === "absent") return;
    this.failed += 1;
    this.lastFailure = { hook, code: failure.code, message: failure.message, atMs: Date.now() };
  }

  private announce(): void {
    const { state } = this.breaker.report(Date.now());
    if (state === "closed") this.onChange("the engine answers again");
    else this.onChange(`the engine does not answer (${this.lastFailure?.message ?? "see /contextwire doctor"}); turns go on without it`);
  }
}

interface Order {
  epoch: number;
  seq: number;
  wasRaised: boolean;
}

function outcomeOf(failure: HookFailure): Outcome {
  if (failure.countsAs === "breaker") return "failure";
  return failure.countsAs === "slow-breaker" ? "breach" : "unjudged";
}

function isBusy(reason: string | undefined): boolean {
  return reason === "OVERLOADED" || reason === "DRAINING" || reason === "DEPENDENCY_UNAVAILABLE";
}

function refused(call: HostCall): HostCallResult {
  const error = { reason: "UNSUPPORTED", message: "this hook serves no calls back", retryable: false };
  return { $typeName: "contextengine.v1.HostCallResult", callId: call.callId, outcome: { case: "error", value: error as never } };
}

