// What the engine says it is; the last word is kept in the plugin's file, so that a host that starts before its engine
// goes by what it was (R7.12).

import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { MESSAGE_BYTES, PROTOCOL, RUNTIME_SETTINGS_VERSIONS, ageTo, rpc } from "contextwire-proto";
import {
  DescribeRequestSchema,
  type DescribeResponse,
  DescribeResponseSchema,
  type EngineInfo,
  EngineState,
  TranscriptSync,
} from "contextwire-proto/v1/describe";
import type { Meta } from "../outbox/database.ts";
import type { Channel } from "../wire/channel.ts";
import { HookFailure, asFailure } from "../wire/failure.ts";

const DEADLINE_MS = 2000;
const REQUIRED = ["Describe", "Ingest", "Assemble", "Compact"];
const CAPABILITIES = [
  "bootstrap",
  "assemble-before-prompt",
  "after-turn",
  "maintain",
  "compact",
  "runtime-llm-complete",
  "thread-bootstrap-projection",
];

/** Who this host is. */
export interface HostIdentity {
  version: string;
  instance: string;
}

/** The description in use, asked for again when its connection is gone or its time is over. */
export class Acquaintance {
  private readonly channel: Channel;
  private readonly meta: Meta;
  private readonly storeKey: string;
  private readonly host: HostIdentity;
  private current: { response: DescribeResponse; until: number } | undefined;
  private last: DescribeResponse | undefined;
  private asking: Promise<DescribeResponse> | undefined;

  constructor(channel: Channel, meta: Meta, engineKey: string, host: HostIdentity) {
    this.channel = channel;
    this.meta = meta;
    this.storeKey = `engine:${engineKey}`;
    this.host = host;
    this.last = this.stored();
  }

  /** The last description, of now or of an earlier process; absent while the engine was never seen. */
  get lastSeen(): DescribeResponse | undefined {
    return this.last;
  }

  /** The connection failed: whoever answers next has to introduce itself. */
  forget(): void {
    this.current = undefined;
  }

  /** The engine as it is now.
   * @throws HookFailure when it cannot be asked, or is none that this host can use. */
  async ask(now: number): Promise<DescribeResponse> {
    const known = this.current;
    if (known !== undefined && now < known.until && this.channel.isConnected) return known.response;
    this.asking ??= this.describe().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async describe(): Promise<DescribeResponse> {
    let response: DescribeResponse;
    try {
      response = await this.send(PROTOCOL.minor);
    } catch (error) {
      const failure = asFailure(error);
      if (failure.kind !== "refused" || failure.reason === "VERSION_UNSUPPORTED") throw failure;
      // An engine that refuses newer fields may take the first ones (R5.5).
      response = await this.send(0);
    }
    validate(response);
    const ttl = Number(response.ttlMs);
    this.current = { response, until: ttl === 0 ? Number.POSITIVE_INFINITY : Date.now() + ttl };
    this.remember(response);
    return response;
  }

  private async send(minor: number): Promise<DescribeResponse> {
    const request = create(DescribeRequestSchema, {
      protocol: { ...PROTOCOL },
      host: { id: "openclaw", label: "OpenClaw", version: this.host.version },
      hostInstance: this.host.instance,
      hostCapabilities: CAPABILITIES,
      runtimeSettingsVersions: [...RUNTIME_SETTINGS_VERSIONS],
      limits: { maxMessageBytes: BigInt(MESSAGE_BYTES) },
    });
    ageTo(DescribeRequestSchema, request, minor);
    return this.channel.unary(rpc("describe"), request, new Metadata(), DEADLINE_MS);
  }

  private remember(response: DescribeResponse): void {
    this.last = response;
    this.meta.set(this.storeKey, toJsonString(DescribeResponseSchema, response));
  }

  private stored(): DescribeResponse | undefined {
    const text = this.meta.get(this.storeKey);
    if (text === undefined) return undefined;
    try {
      return fromJsonString(DescribeResponseSchema, text, { ignoreUnknownFields: true });
    } catch {
      return undefined;
    }
  }
}

/** The protocol minor that both sides speak. */
export function minorOf(response: DescribeResponse): number {
  return Math.min(PROTOCOL.minor, response.protocol?.minor ?? 0);
}

/** Whether the engine has a method. */
export function implementsMethod(info: EngineInfo | undefined, name: string): boolean {
  return info?.methods.includes(name) ?? false;
}

/** Whether it keeps mirrors of lists (R3.9). */
export function keepsMirrors(info: EngineInfo | undefined): boolean {
  return info?.transcriptSync === TranscriptSync.DELTA;
}

function validate(response: DescribeResponse): void {
  const { engine, protocol, state } = response;
  if ((protocol?.major ?? PROTOCOL.major) !== PROTOCOL.major) {
    throw new HookFailure("refused", `the engine speaks protocol ${protocol?.major}, this host ${PROTOCOL.major}`);
  }
  const missing = REQUIRED.filter((name) => !implementsMethod(engine, name));
  if (!engine?.id.trim()) missing.unshift("an id");
  if (!engine?.name.trim()) missing.unshift("a name");
  if (missing.length > 0) throw new HookFailure("contract", `the engine lacks ${missing.join(", ")}`);
  if (state === EngineState.STARTING || state === EngineState.DRAINING) {
    throw new HookFailure("unreachable", "the engine takes no calls yet, or no more");
  }
}
