// Why a call was not answered, and what that counts towards; the only place that looks at gRPC codes (R6.2).

import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { readDetails } from "contextwire-proto";

/** What went wrong with a call. */
export type FailureKind =
  | "deadline"
  | "silent"
  | "unreachable"
  | "refused"
  | "contract"
  | "over-budget"
  | "syncing"
  | "too-large"
  | "breaker-open"
  | "absent"
  | "aborted"
  | "turn-degraded";

/** What a failure counts towards. */
export type CountsAs = "nothing" | "breaker" | "slow-breaker" | "engine";

const OF_THE_WAY = new Set(["METHOD_ABSENT", "DRAINING", "OVERLOADED", "DEPENDENCY_UNAVAILABLE", "DEADLINE_EXCEEDED"]);
const OF_THE_CONTRACT = new Set(["CONTRACT_VIOLATION", "TRANSCRIPT_DIGEST_MISMATCH"]);

/** Codes that are judged without a reason of ours; every other may come from a dying connection. */
const REASONS_BY_CODE: Record<number, string> = {
  [status.UNIMPLEMENTED]: "METHOD_ABSENT",
  [status.INVALID_ARGUMENT]: "INVALID_REQUEST",
  [status.UNAUTHENTICATED]: "UNAUTHENTICATED",
  [status.PERMISSION_DENIED]: "PERMISSION_DENIED",
};

/** A call that the engine did not answer, or not so that its answer could be used. */
export class HookFailure extends Error {
  readonly kind: FailureKind;
  /** The contract's reason, of refusals. */
  readonly reason: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** The variables of the reason. */
  readonly details: Record<string, string>;

  constructor(kind: FailureKind, message: string, refusal?: ReturnType<typeof readDetails>) {
    super(message);
    this.name = "HookFailure";
    this.kind = kind;
    this.reason = refusal?.reason;
    this.retryAfterMs = refusal?.retryAfterMs;
    this.details = refusal?.metadata ?? {};
  }

  /** For people and reports: `ENGINE_FAILURE`, `DEADLINE`. */
  get code(): string {
    return this.reason ?? this.kind.toUpperCase().replaceAll("-", "_");
  }

  get countsAs(): CountsAs {
    switch (this.kind) {
      case "deadline":
      case "silent":
      case "unreachable":
        return "breaker";
      case "contract":
        return "slow-breaker";
      case "refused":
        return reasonCountsAs(this.reason ?? "");
      default:
        return "nothing";
    }
  }
}

function reasonCountsAs(reason: string): CountsAs {
  if (reason === "ENGINE_FAILURE") return "engine";
  if (OF_THE_CONTRACT.has(reason)) return "slow-breaker";
  return OF_THE_WAY.has(reason) ? "breaker" : "nothing";
}

/** What an error of the gRPC library means; `timedOut` when the host's own timer had fired before. */
export function failureOf(error: ServiceError, timedOut = false): HookFailure {
  const details = readDetails(detailsBytes(error.metadata));
  const text = error.details || error.message;
  const reason = details.reason ?? REASONS_BY_CODE[error.code];
  if (reason !== undefined) return new HookFailure("refused", text, { ...details, reason });
  const isTimer = error.code === status.CANCELLED || error.code === status.DEADLINE_EXCEEDED;
  if (isTimer && timedOut) return new HookFailure("deadline", "the deadline passed");
  if (error.code === status.FAILED_PRECONDITION || error.code === status.ALREADY_EXISTS) {
    return new HookFailure("refused", text, details);
  }
  return new HookFailure("unreachable", text);
}

/** Any error as a failure; what is none of ours broke on this side of the wire. */
export function asFailure(error: unknown): HookFailure {
  if (error instanceof HookFailure) return error;
  return new HookFailure("contract", error instanceof Error ? error.message : String(error));
}

function detailsBytes(metadata: Metadata | undefined): Buffer | undefined {
  const value = metadata?.get("grpc-status-details-bin")[0];
  return Buffer.isBuffer(value) ? value : undefined;
}
