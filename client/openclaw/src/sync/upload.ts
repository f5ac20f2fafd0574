// The lists of one call on their way out (R3.4 to R3.6); neither waits nor sends.

import { create } from "@bufbuild/protobuf";
import { NEED_TRANSCRIPTS } from "contextwire-proto";
import {
  type NeedTranscript,
  type Segment,
  SegmentSchema,
  TranscriptList,
  type TranscriptUpdate,
  TranscriptUpdateSchema,
} from "contextwire-proto/v1/transcript";
import { HookFailure } from "../wire/failure.ts";
import type { Book, ListName, Site } from "./book.ts";
import { diff } from "./diff.ts";
import { List, type State, stateOf, wireOf, wireState } from "./list.ts";

/** What an encoded message has beside its payload, generously. */
const MESSAGE_ROOM = 512;
/** What a frame has beside its segments. */
const FRAME_ROOM = 64 * 1024;
/** Parts are made one by one and no larger than this, so that making one does not hold up the gateway. */
const PART_BYTES = 512 * 1024;

/** Where the lists of a call go. */
export interface Peer {
  book: Book;
  session: string;
  /** The engine keeps no mirrors. */
  full: boolean;
  /** Largest message either side takes, in bytes. */
  maxBytes: number;
}

/** One list on its way out. */
class Outgoing {
  private readonly peer: Peer;
  private readonly name: ListName;
  private readonly site: Site;
  readonly list: List | undefined;
  private lastSeq = 0;
  private asked = 0;
  private waiting: TranscriptUpdate | undefined;
  private rest: Iterator<TranscriptUpdate> | undefined;

  constructor(peer: Peer, name: ListName, site: Site, list: List | undefined) {
    this.peer = peer;
    this.name = name;
    this.site = site;
    this.list = list;
  }

  get wasSent(): boolean {
    return this.lastSeq > 0;
  }

  get owesParts(): boolean {
    return this.waiting !== undefined || this.rest !== undefined;
  }

  nextPart(): TranscriptUpdate | undefined {
    const part = this.waiting ?? this.rest?.next().value;
    this.waiting = undefined;
    if (part?.more !== true) this.rest = undefined;
    return part;
  }

  begin(): TranscriptUpdate {
    this.lastSeq = 1;
    const start = this.peer.full ? "full" : this.peer.book.start(this.peer.session, this.name, this.site);
    const list = this.list ?? List.empty;
    if (start === "unknown") {
      const head = wireState(list.state);
      return this.update({ base: head, head });
    }
    return this.queue(start === "full" ? List.empty : start.from);
  }

  answer(need: NeedTranscript): void {
    this.asked += 1;
    if (this.asked > NEED_TRANSCRIPTS || need.seq !== this.lastSeq + 1) {
      throw new HookFailure("contract", `need_transcript ${need.seq} is request ${this.asked} for the ${this.name}`);
    }
    this.lastSeq = need.seq;
    this.rest = undefined;
    this.waiting =
      this.list === undefined
        ? this.update({ unavailable: true })
        : this.queue(this.base(this.list, need.have.map(stateOf)));
  }

  applied(state: State): void {
    if (this.lastSeq > 0 && this.list?.startsWith(state)) {
      this.peer.book.acknowledge(this.peer.session, this.name, this.site, this.list.prefix(state.count));
    }
  }

  acknowledge(): void {
    if (this.lastSeq > 0 && !this.owesParts && this.list !== undefined) {
      this.peer.book.acknowledge(this.peer.session, this.name, this.site, this.list);
    }
  }

  mismatch(): boolean {
    return this.peer.book.mismatch(this.peer.session, this.name);
  }

  /** The list that the engine's highest known state describes. */
  private base(list: List, have: readonly State[]): List {
    let own = 0;
    for (const state of have) if (list.startsWith(state) && state.count > own) own = state.count;
    const known = this.peer.book.known(this.peer.session, this.name, have);
    return known !== undefined && known.length > own ? known : list.prefix(own);
  }

  /** The first part of the difference; the others wait. */
  private queue(base: List): TranscriptUpdate {
    const parts = this.parts(base, this.list ?? List.empty);
    const first = parts.next().value;
    this.rest = first?.more === true ? parts : undefined;
    return first ?? this.update({});
  }

  private *parts(base: List, list: List): Generator<TranscriptUpdate, undefined> {
    const limit = this.peer.maxBytes - FRAME_ROOM;
    let segments: Segment[] = [];
    let bytes = 0;
    let head = 0;
    const part = (more: boolean): TranscriptUpdate =>
      this.update({ base: wireState(base.state), segments, head: wireState(list.stateAt(head)), more });
    for (const run of diff(base, list)) {
      const message = "insert" in run ? wireOf(run.insert, limit - MESSAGE_ROOM) : undefined;
      const cost = message === undefined ? 16 : message.payload.length + MESSAGE_ROOM;
      if (bytes > 0 && bytes + cost > Math.min(limit, PART_BYTES)) {
        yield part(true);
        segments = [];
        bytes = 0;
      }
      segments.push(segment(run, message));
      head += "keep" in run ? run.keep.count : 1;
      bytes += cost;
    }
    yield part(false);
    return undefined;
  }

  private update(fields: Omit<Partial<TranscriptUpdate>, "$typeName">): TranscriptUpdate {
    const list = this.name === "LOG" ? TranscriptList.LOG : TranscriptList.VIEW;
    return create(TranscriptUpdateSchema, { seq: this.lastSeq, list, ...fields });
  }
}

function segment(run: { keep: { start: number; count: number } } | object, message: Segment["kind"]["value"]): Segment {
  if ("keep" in run) {
    const { start, count } = run.keep;
    return create(SegmentSchema, { kind: { case: "keep", value: { start: BigInt(start), count: BigInt(count) } } });
  }
  return create(SegmentSchema, { kind: { case: "insert", value: message as never } });
}

/** The lists of a call: the one that it carries, and those that the engine may ask for. */
export class Upload {
  private readonly carried: ListName | undefined;
  private readonly view: Outgoing;
  private readonly log: Outgoing;

  private constructor(carried: ListName | undefined, view: Outgoing, log: Outgoing) {
    this.carried = carried;
    this.view = view;
    this.log = log;
  }

  /** A call that carries a view; the log is served where the host has it. */
  static ofView(peer: Peer, site: Site, view: List, log: List | undefined): Upload {
    return new Upload("VIEW", new Outgoing(peer, "VIEW", site, view), new Outgoing(peer, "LOG", "log", log));
  }

  /** A call that carries the log. */
  static ofLog(peer: Peer, log: List): Upload {
    return new Upload("LOG", new Outgoing(peer, "VIEW", "sync", undefined), new Outgoing(peer, "LOG", "log", log));
  }

  /** A call that carries no list. */
  static onDemand(peer: Peer, log: List | undefined): Upload {
    return new Upload(undefined, new Outgoing(peer, "VIEW", "sync", undefined), new Outgoing(peer, "LOG", "log", log));
  }

  /** The update that goes with the first frame. */
  begin(): TranscriptUpdate | undefined {
    if (this.carried === undefined) return undefined;
    return this.carried === "VIEW" ? this.view.begin() : this.log.begin();
  }

  nextPart(): TranscriptUpdate | undefined {
    return this.view.nextPart() ?? this.log.nextPart();
  }

  get owesParts(): boolean {
    return this.view.owesParts || this.log.owesParts;
  }

  /** A result that comes before the whole list was sent refers to nothing. */
  get owesItsList(): boolean {
    if (this.carried === undefined) return false;
    return (this.carried === "VIEW" ? this.view : this.log).owesParts;
  }

  answer(need: NeedTranscript): void {
    (need.list === TranscriptList.LOG ? this.log : this.view).answer(need);
  }

  applied(list: TranscriptList, state: State): void {
    (list === TranscriptList.LOG ? this.log : this.view).applied(state);
  }

  acknowledge(): void {
    this.view.acknowledge();
    this.log.acknowledge();
  }

  /** The engine could not follow; a log that it asked for meanwhile is the one. True: full lists from now on. */
  mismatch(): boolean {
    const isView = this.carried === "VIEW" && !this.log.wasSent;
    return (isView ? this.view : this.log).mismatch();
  }
}
