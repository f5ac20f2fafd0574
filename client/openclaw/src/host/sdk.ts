// The host's SDK, found at run time: the plugin is one file and the host resolves these names for it.

import type { CompactAnswer, CompactParams, HostSdk, TranscriptPage, TranscriptScope } from "./types.ts";

interface TranscriptRuntime {
  readSessionTranscriptVisibleMessageDelta(params: TranscriptScope & { cursor?: string }): Promise<TranscriptPage>;
}

interface Core {
  delegateCompactionToRuntime(params: CompactParams): Promise<CompactAnswer>;
  buildMemorySystemPromptAddition(params: { availableTools: Set<string>; citationsMode?: string }): string | undefined;
}

/** Names in variables, so that neither the bundler nor the type checker looks for the host's files. */
const TRANSCRIPT_RUNTIME: string = "openclaw/plugin-sdk/session-transcript-runtime";
const CORE: string = "openclaw/plugin-sdk/core";

/** Loads what the plugin needs of the host.
 * @throws when this host has no such modules. */
export async function loadSdk(): Promise<HostSdk> {
  const transcripts = (await import(TRANSCRIPT_RUNTIME)) as TranscriptRuntime;
  const core = (await import(CORE)) as Core;
  return {
    readTranscript: (params) => transcripts.readSessionTranscriptVisibleMessageDelta(params),
    delegateCompaction: (params) => core.delegateCompactionToRuntime(params),
    memoryPrompt: (params) => core.buildMemorySystemPromptAddition(params),
  };
}
