// A small engine that does what a test tells it: of an older protocol, strict, wrong, failing. It keeps what it was sent.

import { rmSync } from "node:fs";
import { type DescMessage, type Message, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Metadata, Server, ServerCredentials, type ServiceDefinition, status } from "@grpc/grpc-js";
import { ageTo, asBuffer, writeDetails } from "contextwire-proto";
import { EngineAdminService } from "contextwire-proto/v1/admin";
import { ContextEngineService } from "contextwire-proto/v1/service";

/** What an engine is told to answer instead of its plain answer. */
export interface Script {
  minor?: number;
  /** Refuses what a field of a newer minor holds. */
  strict?: boolean;
  methods?: string[];
  ownsCompaction?: boolean;
  /** By method, or by `Method.frame`: a failure's reason, silence, or another answer. */
  act?: Partial<Record<string, Act>>;
}

type Act = { fail: string; code?: status } | { answer: object } | { frames: object[] } | { silent: true };

/** A request that arrived. */
export interface Received {
  method: string;
  request: Record<string, unknown>;
}

const ALL = ContextEngineService.methods.map((method) => method.name);

/** The engine, serving on a socket. */
export class ScriptedEngine {
  script: Script;
  readonly received: Received[] = [];
  private readonly socket: string;
  private server: Server | undefined;

  constructor(socket: string, script: Script = {}) {
    this.socket = socket;
    this.script = script;
  }

  get target(): string {
    return `unix:${this.socket}`;
  }

  async start(): Promise<void> {
    rmSync(this.socket, { force: true });
    const server = new Server();
    const definition: Record<string, object> = {};
    const handlers: Record<string, unknown> = {};
    for (const method of [...ContextEngineService.methods, EngineAdminService.method.eraseSession]) {
      const isStream = method.methodKind === "bidi_streaming";
      definition[method.name] = {
        path: `/${method.parent.typeName}/${method.name}`,
        requestStream: isStream,
        responseStream: isStream,
        requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
        responseSerialize: (message: Message) => asBuffer(toBinary(method.output, message)),
        requestSerialize: (message: Message) => asBuffer(toBinary(method.input, message)),
        responseDeserialize: (bytes: Buffer) => fromBinary(method.output, bytes),
      };
      handlers[method.name] = isStream
        ? (call: StreamCall) => this.stream(method.name, method.input, method.output, call)
        : (call: { request: Message }, answer: Answer) => this.unary(method.name, method.input, method.output, call.request, answer);
    }
    server.addService(definition as unknown as ServiceDefinition, handlers as never);
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(this.target, ServerCredentials.createInsecure(), (error) => (error === null ? resolve() : reject(error)));
    });
    this.server = server;
  }

  stop(): void {
    this.server?.forceShutdown();
    this.server = undefined;
  }

  /** Requests of a method. */
  of(method: string): Record<string, unknown>[] {
    return this.received.filter((one) => one.method === method).map((one) => one.request);
  }

  private unary(name: string, input: DescMessage, output: DescMessage, request: Message, answer: Answer): void {
    const refusal = this.take(name, input, request);
    const act = this.script.act?.[name];
    if (refusal !== undefined) return answer(refusal);
    if (act !== undefined && "fail" in act) return answer(failure(act.fail, act.code));
    if (act !== undefined && "silent" in act) return;
    const fields = act !== undefined && "answer" in act ? act.answer : this.plain(name);
    answer(null, create(output, fields as never));
  }

  private stream(name: string, input: DescMessage, output: DescMessage, call: StreamCall): void {
    let inserted = 0;
    call.on("data", (message: Message) => {
      const { frame } = message as unknown as { frame: { case: string; value: Record<string, unknown> } };
      const refusal = this.take(name, input, message, frame);
      if (refusal !== undefined) return void call.emit("error", refusal);
      if (frame.case === "cancel") return void call.emit("error", failure("CANCELLED", status.CANCELLED));
      const update = (frame.case === "start" ? frame.value["transcript"] : frame.value) as Update | undefined;
      inserted += update?.segments?.length ?? 0;
      if (frame.case === "hostCallResult" || update?.more === true) return;
      const act = this.script.act?.[frame.case === "start" ? name : `${name}.${frame.case}`] ?? this.script.act?.[name];
      if (act !== undefined && "silent" in act) return;
      if (act !== undefined && "fail" in act) return void call.emit("error", failure(act.fail, act.code));
      const frames = act !== undefined && "frames" in act ? act.frames : [{ case: "result", value: this.answerOf(name, act, inserted) }];
      for (const one of frames) call.write(create(output, { frame: one } as never));
      if (frames.some((one) => (one as { case?: string }).case === "result")) call.end();
    });
    call.on("end", () => call.end());
  }

  private answerOf(name: string, act: Act | undefined, inserted: number): object {
    if (act !== undefined && "answer" in act) return act.answer;
    if (name !== "Assemble") return this.plain(name);
    const segments = inserted === 0 ? [] : [{ kind: { case: "keep", value: { start: 0n, count: BigInt(inserted) } } }];
    return { outcome: { case: "messages", value: { segments, estimatedTokens: 0n } } };
  }

  private take(name: string, input: DescMessage, message: Message, frame?: { case: string; value: unknown }) {
    const value = frame === undefined ? message : frame.value;
    const method = frame === undefined || frame.case === "start" ? name : `${name}.${frame.case}`;
    this.received.push({ method, request: value as Record<string, unknown> });
    if (this.script.strict !== true) return undefined;
    const before = asBuffer(toBinary(input, message));
    const aged = fromBinary(input, before);
    ageTo(input, aged, this.script.minor ?? 3);
    if (asBuffer(toBinary(input, aged)).equals(before)) return undefined;
    return failure("UNKNOWN_FIELD", status.INVALID_ARGUMENT, ["call.#11"]);
  }

  private plain(name: string): object {
    if (name === "Describe") {
      const { minor = 3, methods = ALL, ownsCompaction = false } = this.script;
      return {
        protocol: { major: 1, minor },
        engine: { id: "scripted", name: "Scripted", version: "1", methods, ownsCompaction, transcriptSync: 2 },
      };
    }
    if (name === "CommitTurn") return { status: 1 };
    if (name === "Compact") return { ok: true, compacted: false, reason: "scripted" };
    if (name === "PrepareSubagentSpawn") return { prepared: true };
    return {};
  }
}

interface Update {
  segments?: unknown[];
  more?: boolean;
}

type Answer = (error: object | null, message?: Message) => void;

interface StreamCall {
  on(event: string, listener: (value: never) => void): void;
  emit(event: string, value: unknown): boolean;
  write(message: Message): boolean;
  end(): void;
}

function failure(reason: string, code: status = status.INTERNAL, violations: string[] = []): object {
  const metadata = new Metadata();
  const text = `scripted ${reason}`;
  metadata.set("grpc-status-details-bin", writeDetails(code, text, reason, violations));
  return Object.assign(new Error(text), { code, details: text, metadata });
}
