// The numbers that both sides keep; the same as in `proto/src/limits.rs`.

/** The protocol that this package speaks. */
export const PROTOCOL = { major: 1, minor: 3 } as const;

/** Versions of `RuntimeSettings` that this package knows. */
export const RUNTIME_SETTINGS_VERSIONS = [1] as const;

/** Largest gRPC message in bytes, each way. */
export const MESSAGE_BYTES = 16 * 1024 * 1024;

/** Longest text of a status, a progress report or a reason, in bytes. */
export const TEXT_BYTES = 512;

/** Deepest nesting of JSON that this contract defines; payloads nest without limit. */
export const JSON_DEPTH = 128;

/** How often an engine may ask for one list in one hook. */
export const NEED_TRANSCRIPTS = 2;

/** States that each side keeps for a list. */
export const MIRROR_STATES = 4;

/** Host calls open at once in a hook. */
export const OPEN_HOST_CALLS = 4;

/** Most ids in `abandoned_hooks`. */
export const ABANDONED_HOOKS = 32;

/** How long an engine has to answer a cancel before the host resets the stream, in milliseconds. */
export const CANCEL_GRACE_MS = 1000;

/** What `grpc-timeout` adds to the engine's share on streams, in milliseconds. */
export const STREAM_TIMEOUT_SLACK_MS = 2000;

/** The engine's share of a deadline, both in milliseconds: what is left after the host's reserve. */
export function share(deadlineMs: number): number {
  return deadlineMs - Math.min(250, deadlineMs / 4);
}
