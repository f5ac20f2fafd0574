// A failure of the wire: a gRPC code, and where it is one of this contract the reason in its details.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
  StatusSchema,
} from "../gen/google/rpc/status_details_pb.js";

/** Whose reasons are judged. */
export const DOMAIN = "contextengine.v1";

/** What the details of a status say. */
export interface FailureDetails {
  /** Absent when the status is none of this contract's: a dying connection looks like any code. */
  reason?: string;
  metadata: Record<string, string>;
  retryAfterMs?: number;
  violations: { field: string; description: string }[];
}

/** Reads the trailer `grpc-status-details-bin`; what is malformed says nothing. */
export function readDetails(bytes: Uint8Array | undefined): FailureDetails {
  const found: FailureDetails = { metadata: {}, violations: [] };
  if (bytes === undefined) return found;
  try {
    for (const detail of fromBinary(StatusSchema, bytes).details) {
      const info = anyUnpack(detail, ErrorInfoSchema);
      if (info !== undefined && info.domain === DOMAIN) {
        found.reason = info.reason;
        found.metadata = { ...info.metadata };
      }
      const delay = anyUnpack(detail, RetryInfoSchema)?.retryDelay;
      if (delay !== undefined) found.retryAfterMs = Number(delay.seconds) * 1000 + delay.nanos / 1e6;
      found.violations.push(...(anyUnpack(detail, BadRequestSchema)?.fieldViolations ?? []));
    }
  } catch {
    return { metadata: {}, violations: [] };
  }
  return found;
}

/** Writes the trailer, for whoever serves. */
export function writeDetails(code: number, message: string, reason: string, violations: string[] = []): Buffer {
  const details = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain: DOMAIN }))];
  if (violations.length > 0) {
    const fieldViolations = violations.map((field) => ({ field, description: "unknown field" }));
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  return Buffer.from(toBinary(StatusSchema, create(StatusSchema, { code, message, details })));
}
