// A list of messages with its digest chain: what a LOG or a VIEW is on this side.

import { create } from "@bufbuild/protobuf";
import {
  EMPTY_CHAIN,
  type Header,
  chainAfter,
  headerOf,
  messageDigest,
  sha256,
} from "contextwire-proto";
import { type Message, MessageSchema } from "contextwire-proto/v1/message";
import { type TranscriptState, TranscriptStateSchema } from "contextwire-proto/v1/transcript";

/** One message, its bytes and its identity. */
export interface Item {
  /** The host's own object. */
  source: unknown;
  /** Its JSON, the bytes that travel. */
  json: string;
  /** Lineage id; empty where the host gives none. */
  entryId: string;
  header: Header;
  digest: string;
  /** What `json` says, once somebody compared with it; nobody else holds it, so nobody changes it. */
  snapshot?: unknown;
}

/** Length and chain of a list. */
export interface State {
  count: number;
  chain: string;
}

/** Makes an item of a host's message. */
export function itemOf(source: unknown, entryId: string, json: string = JSON.stringify(source)): Item {
  const header = headerOf(source);
  return { source, json, entryId, header, digest: messageDigest(entryId, header.role, sha256(json)) };
}

/** An item as it travels; over `limit` bytes a stub does in its place, and its digest stays. */
export function wireOf(item: Item, limit: number): Message {
  const { header } = item;
  const bytes = Buffer.from(item.json, "utf8");
  const message = create(MessageSchema, {
    payload: bytes,
    entryId: item.entryId,
    role: header.role,
    toolCallIds: header.toolCallIds,
  });
  if (header.timestampMs !== undefined) message.timestampMs = header.timestampMs;
  if (header.toolResultFor !== undefined) message.toolResultFor = header.toolResultFor;
  if (bytes.length > limit) {
    const stub = { role: header.role, content: `[${bytes.length} bytes omitted]` };
    message.payload = Buffer.from(JSON.stringify(stub), "utf8");
    message.omitted = {
      $typeName: "contextengine.v1.OmittedPayload",
      bytes: BigInt(bytes.length),
      sha256: Buffer.from(sha256(item.json), "hex"),
    };
  }
  return message;
}

/** An immutable list. Appending shares what is there already. */
export class List {
  readonly items: readonly Item[];
  /** `chains[i]` is the chain after `i` items. */
  private readonly chains: readonly string[];
  private size: number | undefined;

  private constructor(items: readonly Item[], chains: readonly string[]) {
    this.items = items;
    this.chains = chains;
  }

  static readonly empty = new List([], [EMPTY_CHAIN]);

  /** A list of these items. Where it begins like `known`, the chain up to there is taken over. */
  static of(items: readonly Item[], known: List = List.empty): List {
    let shared = 0;
    while (shared < items.length && items[shared]?.digest === known.items[shared]?.digest) shared += 1;
    const chains = known.chains.slice(0, shared + 1);
    let chain = chains[shared] ?? EMPTY_CHAIN;
    for (let at = shared; at < items.length; at += 1) {
      chain = chainAfter(chain, items[at]?.digest ?? "");
      chains.push(chain);
    }
    return new List(items, chains);
  }

  get length(): number {
    return this.items.length;
  }

  get state(): State {
    return { count: this.items.length, chain: this.chains[this.items.length] ?? EMPTY_CHAIN };
  }

  /** Size of its JSON, in UTF-16 units. */
  get bytes(): number {
    this.size ??= this.items.reduce((sum, item) => sum + item.json.length, 0);
    return this.size;
  }

  /** Whether the list begins with a list of this state. */
  startsWith(state: State): boolean {
    return this.chains[state.count] === state.chain;
  }

  prefix(count: number): List {
    return count >= this.length ? this : new List(this.items.slice(0, count), this.chains.slice(0, count + 1));
  }

  append(more: readonly Item[]): List {
    return more.length === 0 ? this : List.of([...this.items, ...more], this);
  }

  stateAt(count: number): State {
    return { count, chain: this.chains[count] ?? EMPTY_CHAIN };
  }
}

/** A state as it travels. */
export function wireState(state: State): TranscriptState {
  return create(TranscriptStateSchema, { count: BigInt(state.count), chain: Buffer.from(state.chain, "hex") });
}

/** A state that came over the wire. */
export function stateOf(wire: TranscriptState | undefined): State {
  const chain = Buffer.from(wire?.chain ?? []).toString("hex");
  return { count: Number(wire?.count ?? 0n), chain: chain === "" ? EMPTY_CHAIN : chain };
}
