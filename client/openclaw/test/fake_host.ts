// A host's transcript and SDK in memory, as far as the plugin uses them.

import type { CompactAnswer, CompactParams, HostSdk, Logger, TranscriptEntry, TranscriptPage } from "../src/host/types.ts";

/** The host. */
export class FakeHost {
  entries: TranscriptEntry[] = [];
  generation = 1;
  /** What the host shows ends here while a turn runs; absent: everything. */
  fence: number | undefined;
  reads = 0;
  delegated: CompactParams[] = [];
  delegation: () => Promise<CompactAnswer> = async () => ({ ok: true, compacted: true, result: { tokensBefore: 9, tokensAfter: 3 } });
  memory: string | undefined;
  readonly warnings: string[] = [];
  readonly logger: Logger = {
    info: () => undefined,
    warn: (message) => void this.warnings.push(message),
    error: (message) => void this.warnings.push(message),
  };

  add(role: string, text: string, id = `e${this.entries.length}`): TranscriptEntry {
    const entry = { entryId: id, message: { role, content: text, timestamp: 1000 + this.entries.length } };
    this.entries.push(entry);
    return entry;
  }

  /** A rewrite gives every entry from some place on a new id. */
  rewrite(from: number, text: string): void {
    this.generation += 1;
    this.entries = this.entries.map((entry, at) => {
      if (at < from) return entry;
      const message = at === from ? { ...entry.message, content: text } : entry.message;
      return { entryId: `${entry.entryId}'`, message };
    });
  }

  readonly sdk: HostSdk = {
    readTranscript: async ({ cursor }): Promise<TranscriptPage> => {
      this.reads += 1;
      const [generation, at] = (cursor ?? `${this.generation} 0`).split(" ").map(Number);
      if (generation !== this.generation) return { kind: "reset", cursor: `${this.generation} 0`, reason: "generation_mismatch" };
      const end = this.fence ?? this.entries.length;
      if ((at ?? 0) > end) throw new Error("the cursor has crossed the fence");
      const next = Math.min(end, (at ?? 0) + 3);
      return { kind: "page", cursor: `${generation} ${next}`, hasMore: next < end, entries: this.entries.slice(at, next) };
    },
    delegateCompaction: async (params) => {
      this.delegated.push(params);
      return this.delegation();
    },
    memoryPrompt: () => this.memory,
  };
}
