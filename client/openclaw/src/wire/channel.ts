// The one connection of this process to its engine: opened by the first call, never closed by an engine instance.

import { Client, Metadata, connectivityState, credentials } from "@grpc/grpc-js";
import { MESSAGE_BYTES, type Rpc } from "contextwire-proto";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { HookFailure, failureOf } from "./failure.ts";

const OPTIONS = {
  "grpc.max_receive_message_length": MESSAGE_BYTES,
  "grpc.max_send_message_length": MESSAGE_BYTES,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1000,
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 5000,
  "grpc.enable_retries": 0,
  "grpc.enable_http_proxy": 0,
  "grpc.service_config_disable_resolution": 1,
};

/** A channel to `unix:/path` or to a loopback address. */
export class Channel {
  private readonly address: string;
  private client: Client | undefined;

  constructor(address: string) {
    this.address = address;
  }

  /** Whether the connection that the last call used is still there. */
  get isConnected(): boolean {
    return this.client?.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /** Opens a stream for a hook. */
  stream<I extends DescMessage, O extends DescMessage>(rpc: Rpc<I, O>, metadata: Metadata, timeoutMs: number) {
    return this.open().makeBidiStreamRequest<MessageShape<I>, MessageShape<O>>(
      rpc.path,
      (message) => rpc.encode(message),
      (bytes) => rpc.decode(bytes),
      metadata,
      { deadline: Date.now() + timeoutMs },
    );
  }

  /** Calls a unary method. */
  async unary<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    request: MessageShape<I>,
    metadata: Metadata,
    timeoutMs: number,
  ): Promise<MessageShape<O>> {
    const deadline = Date.now() + timeoutMs;
    return new Promise((resolve, reject) => {
      this.open().makeUnaryRequest<MessageShape<I>, MessageShape<O>>(
        rpc.path,
        (message) => rpc.encode(message),
        (bytes) => rpc.decode(bytes),
        request,
        metadata,
        { deadline },
        (error, answer) => {
          if (error !== null) reject(failureOf(error, Date.now() >= deadline));
          else if (answer === undefined) reject(new HookFailure("contract", "an answer without a message"));
          else resolve(answer);
        },
      );
    });
  }

  close(): void {
    this.client?.close();
    this.client = undefined;
  }

  private open(): Client {
    this.client ??= new Client(this.address, credentials.createInsecure(), OPTIONS);
    return this.client;
  }
}
