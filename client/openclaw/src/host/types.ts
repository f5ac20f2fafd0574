// What OpenClaw hands over and takes back: the part of its plugin interface that this plugin uses.

/** Everything a hook of a session may carry besides its own parameters. */
export interface SessionParams {
  sessionId: string;
  sessionKey?: string;
  agentId?: string;
  sessionTarget?: SessionTargetParams;
  /** Deprecated by the host: holds the session's key, not a path. */
  sessionFile?: string;
  runtimeSettings?: unknown;
  runtimeContext?: Record<string, unknown>;
  abortSignal?: AbortSignal;
}

export interface SessionTargetParams {
  agentId?: string;
  sessionId?: string;
  sessionKey?: string;
  storePath?: string;
  threadId?: string | number;
}

export interface AssembleParams extends SessionParams {
  messages: unknown[];
  tokenBudget?: number;
  availableTools?: Set<string> | readonly string[];
  citationsMode?: string;
  model?: string;
  prompt?: string;
}

export interface AssembleAnswer {
  messages: unknown[];
  estimatedTokens: number;
  promptAuthority?: "assembled" | "preassembly_may_overflow";
  systemPromptAddition?: string;
  contextProjection?: { mode: "per_turn" | "thread_bootstrap"; epoch?: string; fingerprint?: string };
}

export interface CompactParams extends SessionParams {
  tokenBudget?: number;
  force?: boolean;
  currentTokenCount?: number;
  compactionTarget?: "budget" | "threshold";
  customInstructions?: string;
}

export interface CompactAnswer {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: {
    summary?: string;
    firstKeptEntryId?: string;
    tokensBefore: number;
    tokensAfter?: number;
    details?: unknown;
    sessionId?: string;
    sessionTarget?: SessionTargetParams;
  };
}

export interface MaintainAnswer {
  changed: boolean;
  bytesFreed: number;
  rewrittenEntries: number;
  reason?: string;
}

export interface BootstrapAnswer {
  bootstrapped: boolean;
  importedMessages?: number;
  reason?: string;
}

export interface AnchorParams {
  agentId: string;
  sessionId: string;
  sessionKey: string;
  storePath: string;
  generation: string;
  entryId: string;
  rawSeq: number;
  effectiveParentId: string | null;
  activeMessagePosition: number;
  idempotencyKey?: string;
}

export interface CommitParams extends SessionParams {
  advancementKey: string;
  admission: AnchorParams & { logicalTurnId: string; role: string };
  terminal: AnchorParams;
  messages: unknown[];
  isHeartbeat?: boolean;
}

export interface SpawnParams {
  parentSessionKey: string;
  childSessionKey: string;
  contextMode?: "isolated" | "fork";
  parentSessionId?: string;
  parentSessionFile?: string;
  childSessionId?: string;
  childSessionFile?: string;
  ttlMs?: number;
}

export interface SubagentEndParams {
  childSessionKey: string;
  reason: string;
  agentDir?: string;
  workspaceDir?: string;
}

/** Why a session ended: `deleted` among others, which leave its transcript where it is. */
export interface SessionEndEvent {
  sessionId: string;
  sessionKey?: string;
  reason?: string;
}

export interface Logger {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** A page of the transcript as the host's cursor API answers. */
export type TranscriptPage =
  | { kind: "page"; cursor: string; hasMore: boolean; requiredBytes?: number; entries: TranscriptEntry[] }
  | { kind: "reset"; cursor?: string; reason?: string }
  | { kind: "missing" }
  | { kind: "unavailable"; reason?: string };

export interface TranscriptEntry {
  entryId: string;
  message: Record<string, unknown>;
  role?: string;
}

export interface TranscriptScope {
  agentId: string;
  sessionId: string;
  sessionKey: string;
}

/** What of the host's SDK the plugin calls. */
export interface HostSdk {
  readTranscript(scope: TranscriptScope & { cursor?: string; maxBytes?: number }): Promise<TranscriptPage>;
  delegateCompaction(params: CompactParams): Promise<CompactAnswer>;
  memoryPrompt(params: { availableTools: Set<string>; citationsMode?: string }): string | undefined;
}
