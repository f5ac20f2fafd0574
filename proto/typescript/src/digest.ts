// Digests of messages and of lists: SHA-256 over the bytes sent, in hex.

import { hash } from "node:crypto";

/** The chain of the empty list, in hex. */
export const EMPTY_CHAIN = "00".repeat(32);

const prefixes = new Map<string, Buffer>();

/** SHA-256 of bytes, or of the UTF-8 of a text, in hex. */
export function sha256(data: string | Uint8Array): string {
  return hash("sha256", data, "hex");
}

/** Digest of a message: over its ids, and the SHA-256 of its payload in hex. */
export function messageDigest(entryId: string, role: string, payloadSha256: string): string {
  const prefix = entryId === "" ? rolePrefix(role) : idPrefix(entryId, role);
  const bytes = Buffer.allocUnsafe(prefix.length + 32);
  prefix.copy(bytes);
  bytes.write(payloadSha256, prefix.length, 32, "hex");
  return sha256(bytes);
}

/** The chain after one more message. */
export function chainAfter(chain: string, digest: string): string {
  const bytes = Buffer.allocUnsafe(64);
  bytes.write(chain, 0, 32, "hex");
  bytes.write(digest, 32, 32, "hex");
  return sha256(bytes);
}

/** Roles are few, and most lists have no ids. */
function rolePrefix(role: string): Buffer {
  let prefix = prefixes.get(role);
  if (prefix === undefined) {
    prefix = idPrefix("", role);
    if (prefixes.size < 64) prefixes.set(role, prefix);
  }
  return prefix;
}

function idPrefix(entryId: string, role: string): Buffer {
  return Buffer.concat([sized(entryId), sized(role)]);
}

function sized(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
