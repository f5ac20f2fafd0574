// One hook on its stream: frames out and in, until the result, a failure or the end of its time (PROTOCOL 1, R7.1).

import type { ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import { CANCEL_GRACE_MS, OPEN_HOST_CALLS } from "contextwire-proto";
import type { HostCall, HostCallResult } from "contextwire-proto/v1/host_call";
import { CancelReason, type Progress } from "contextwire-proto/v1/frame";
import type { NeedTranscript } from "contextwire-proto/v1/transcript";
import { stateOf } from "../sync/list.ts";
import type { Upload } from "../sync/upload.ts";
import { HookFailure, asFailure, failureOf } from "./failure.ts";

/** A frame of the engine, of any hook. */
export interface EngineFrame {
  frame:
    | { case: "result"; value: unknown }
    | { case: "hostCall"; value: HostCall }
    | { case: "progress"; value: Progress }
    | { case: "needTranscript"; value: NeedTranscript }
    | { case: undefined; value?: undefined };
}

/** A frame of the host, of any hook. */
export interface HostFrame {
  case: "start" | "transcript" | "hostCallResult" | "cancel";
  value: unknown;
}

type Stream = ClientDuplexStream<unknown, EngineFrame>;

/** What one exchange is about. */
export interface Exchange {
  open(): Stream;
  /** Wraps a frame into the hook's request message. */
  frame(frame: HostFrame): unknown;
  start: unknown;
  upload: Upload;
  /** When the engine has to have answered, in milliseconds from now. */
  shareMs: number;
  /** How long it may be silent while this side owes it nothing. */
  idleMs: number;
  signal: AbortSignal | undefined;
  serve(call: HostCall): Promise<HostCallResult>;
}

/** Runs the exchange to its end. */
export async function exchange<R>(what: Exchange): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    new Running(what, resolve as (value: unknown) => void, reject).begin();
  });
}

class Running {
  private readonly what: Exchange;
  private readonly stream: Stream;
  private readonly resolve: (value: unknown) => void;
  private readonly reject: (error: unknown) => void;
  private readonly total: NodeJS.Timeout;
  private idle: NodeJS.Timeout | undefined;
  private openCalls = 0;
  private isWriting = false;
  private settled = false;
  private result: { value: unknown } | undefined;
  private readonly onAbort = (): void => this.abort();

  constructor(what: Exchange, resolve: (value: unknown) => void, reject: (error: unknown) => void) {
    this.what = what;
    this.resolve = resolve;
    this.reject = reject;
    this.stream = what.open();
    this.total = setTimeout(() => this.giveUp(this.late(), CancelReason.DEADLINE), what.shareMs);
  }

  begin(): void {
    const { stream, what } = this;
    stream.on("data", (message: EngineFrame) => this.take(message));
    stream.on("error", (error: ServiceError) => this.fail(failureOf(error)));
    stream.on("end", () => this.ended());
    what.signal?.addEventListener("abort", this.onAbort, { once: true });
    if (what.signal?.aborted === true) return this.abort();
    this.send({ case: "start", value: what.start });
    void this.sendParts();
    this.listen();
  }

  /** Sends what waits, as fast as the connection takes it. */
  private async sendParts(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    for (let part = this.what.upload.nextPart(); part !== undefined && !this.settled; part = this.what.upload.nextPart()) {
      const flows = this.send({ case: "transcript", value: part });
      if (!flows) await this.drained();
    }
    this.isWriting = false;
    this.listen();
  }

  private async drained(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.stream.once("drain", resolve);
      this.stream.once("close", resolve);
    });
  }

  private take({ frame }: EngineFrame): void {
    if (this.settled) return;
    if (this.result !== undefined) return this.giveUp(new HookFailure("contract", "a frame after the result"));
    try {
      if (frame.case === "result") this.finish(frame.value);
      else if (frame.case === "hostCall") void this.serve(frame.value);
      else if (frame.case === "needTranscript") {
        this.what.upload.answer(frame.value);
        void this.sendParts();
      } else if (frame.case === "progress" && frame.value.applied !== undefined) {
        this.what.upload.applied(frame.value.applied.list, stateOf(frame.value.applied.state));
      }
    } catch (error) {
      return this.giveUp(asFailure(error));
    }
    this.listen();
  }

  /** On the result this side stops sending; the trailers say that nothing follows. */
  private finish(value: unknown): void {
    if (this.what.upload.owesItsList) throw new HookFailure("contract", "a result before the whole list");
    this.result = { value };
    this.stream.end();
  }

  private ended(): void {
    if (this.result === undefined) return this.fail(new HookFailure("contract", "an end without a result"));
    if (!this.settle()) return;
    this.what.upload.acknowledge();
    this.resolve(this.result.value);
  }

  private async serve(call: HostCall): Promise<void> {
    if (this.openCalls >= OPEN_HOST_CALLS) {
      return this.giveUp(new HookFailure("contract", `more than ${OPEN_HOST_CALLS} host calls at once`));
    }
    this.openCalls += 1;
    const result = await this.what.serve(call);
    this.openCalls -= 1;
    if (this.settled || this.result !== undefined) return;
    this.send({ case: "hostCallResult", value: result });
    this.listen();
  }

  /** Silence counts only while this side owes nothing. */
  private listen(): void {
    clearTimeout(this.idle);
    if (this.settled || this.openCalls > 0 || this.isWriting || this.what.upload.owesParts) return;
    const silent = new HookFailure("silent", `no word from the engine for ${this.what.idleMs} ms`);
    this.idle = setTimeout(() => this.giveUp(silent, CancelReason.DEADLINE), this.what.idleMs);
  }

  private late(): HookFailure {
    const { upload, shareMs } = this.what;
    if (upload.owesParts) return new HookFailure("syncing", "the list is still on its way");
    return new HookFailure("deadline", `no answer within ${Math.round(shareMs)} ms`);
  }

  private abort(): void {
    const reason = this.what.signal?.reason ?? new DOMException("the call was aborted", "AbortError");
    this.giveUp(reason, CancelReason.CALLER_ABORT);
  }

  /** Nobody waits any more: the engine is told in band, and the stream is reset only when it does not listen (R1.5). */
  private giveUp(error: unknown, reason: CancelReason = CancelReason.DEADLINE): void {
    if (!this.settle()) return;
    this.reject(error);
    this.send({ case: "cancel", value: { $typeName: "contextengine.v1.Cancel", reason } });
    this.stream.end();
    const guard = setTimeout(() => this.stream.cancel(), CANCEL_GRACE_MS);
    guard.unref();
    this.stream.once("close", () => clearTimeout(guard));
  }

  private fail(failure: HookFailure): void {
    if (!this.settle()) return;
    if (failure.reason === "TRANSCRIPT_DIGEST_MISMATCH") this.what.upload.mismatch();
    this.reject(failure);
    this.stream.cancel();
  }

  /** True the first time. */
  private settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    clearTimeout(this.total);
    clearTimeout(this.idle);
    this.what.signal?.removeEventListener("abort", this.onAbort);
    return true;
  }

  private send(frame: HostFrame): boolean {
    return this.stream.writable ? this.stream.write(this.what.frame(frame)) : true;
  }
}
