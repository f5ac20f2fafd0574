// The LOG of a session: the host's stored branch, followed through its transcript cursor. What no hook ever brings
// (announce turns, degraded turns, what was there before the engine was selected) is in it all the same.

import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { type Item, List, itemOf } from "../sync/list.ts";
import type { HostSdk, TranscriptEntry, TranscriptPage, TranscriptScope } from "../host/types.ts";
import type { Lineage } from "../outbox/lineage.ts";

/** Entries that one look at the transcript may take in, so that a broken cursor cannot keep it busy. */
const MAX_PAGES = 10_000;
/** Bytes of one page, digested at once; a single larger entry asks for more. */
const PAGE_BYTES = 256 * 1024;

/** One session's log, as far as it was read. */
export class SessionLog {
  private readonly sdk: () => Promise<HostSdk>;
  private readonly lineage: Lineage;
  private cursor: string | undefined;
  private held: List = List.empty;
  /** Native ids, in step with the list. */
  private natives: string[] = [];
  private reading: Promise<List | undefined> | undefined;
  private bytes = 0;
  private wasRead = false;

  constructor(sdk: () => Promise<HostSdk>, lineage: Lineage) {
    this.sdk = sdk;
    this.lineage = lineage;
  }

  /** How much of the host's memory the list takes, in bytes of JSON. */
  get size(): number {
    return this.bytes;
  }

  /** The list as it was last read; empty before that. */
  get list(): List {
    return this.held;
  }

  /** The same, absent while it was never read: an engine must not take an unread log for an empty one. */
  get known(): List | undefined {
    return this.wasRead ? this.held : undefined;
  }

  /** Native id of a lineage id, for calls back to the host. */
  nativeOf(entryId: string): string | undefined {
    const at = this.held.items.findIndex((item) => item.entryId === entryId);
    return at < 0 ? undefined : this.natives[at];
  }

  /** What an entry is to the lineage map. */
  natively(): { id: string; role: string; timestamp: unknown }[] {
    return this.held.items.map((item, at) => ({
      id: this.natives[at] ?? "",
      role: item.header.role,
      timestamp: (item.source as { timestamp?: unknown }).timestamp,
    }));
  }

  /** Reads on to the end of what the host shows here. Absent where it shows nothing now; what is held stays. */
  async pump(scope: TranscriptScope): Promise<List | undefined> {
    this.reading ??= this.read(scope).finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  private async read(scope: TranscriptScope): Promise<List | undefined> {
    const sdk = await this.sdk();
    let isFresh = this.cursor === undefined;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await this.page(sdk, scope);
      if (page === undefined || page.kind === "unavailable") return this.known;
      if (page.kind === "missing") return isFresh ? this.replace([], []) : this.restart();
      if (page.kind === "reset") {
        if (isFresh && this.cursor === undefined) return undefined;
        this.restart();
        isFresh = true;
        continue;
      }
      this.take(scope.sessionId, page.entries, isFresh);
      isFresh = false;
      this.cursor = page.cursor;
      if (!page.hasMore) return this.held;
      await turnOfTheLoop();
    }
    return this.held;
  }

  /** The host refuses a cursor that is ahead of what the running turn may see: then nothing new is to be read. */
  private async page(sdk: HostSdk, scope: TranscriptScope): Promise<TranscriptPage | undefined> {
    const at = this.cursor === undefined ? {} : { cursor: this.cursor };
    try {
      const page = await sdk.readTranscript({ ...scope, ...at, maxBytes: PAGE_BYTES });
      if (page.kind !== "page" || page.entries.length > 0 || page.requiredBytes === undefined) return page;
      return await sdk.readTranscript({ ...scope, ...at, maxBytes: page.requiredBytes });
    } catch {
      return undefined;
    }
  }

  private take(session: string, entries: readonly TranscriptEntry[], isFresh: boolean): void {
    const known = this.lineage.of(session);
    const items = entries.map(({ entryId, message }) => itemOf(message, known.get(entryId) ?? entryId));
    const natives = entries.map((entry) => entry.entryId);
    if (isFresh) this.replace(items, natives);
    else {
      this.held = this.held.append(items);
      this.natives.push(...natives);
      this.bytes += sizeOf(items);
    }
  }

  private replace(items: Item[], natives: string[]): List {
    this.wasRead = true;
    this.held = List.of(items, this.held);
    this.natives = natives;
    this.bytes = sizeOf(items);
    return this.held;
  }

  /** The transcript was rewritten: everything is read again. */
  restart(): List {
    this.cursor = undefined;
    return this.held;
  }
}

function sizeOf(items: readonly Item[]): number {
  return items.reduce((sum, item) => sum + item.json.length, 0);
}
