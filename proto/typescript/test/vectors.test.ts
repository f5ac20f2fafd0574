// The golden vectors of the contract: the same bytes, the same JSON, the same headers and digests in every language.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createRegistry, type DescMessage, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { file_contextengine_v1_admin } from "../gen/contextengine/v1/admin_pb.js";
import { file_contextengine_v1_service } from "../gen/contextengine/v1/service_pb.js";
import { type Message, MessageSchema } from "../gen/contextengine/v1/message_pb.js";
import { ageTo, headerOf, messageDigest, sha256 } from "../src/index.ts";

const folder = join(import.meta.dirname, "../../vectors");

interface Vector {
  bytes: string;
  json: unknown;
  name?: string;
  case?: string;
  digest?: string;
  header?: { role: string; timestamp_ms: number | null; tool_call_ids: string[]; tool_result_for: string | null };
}

const services = [file_contextengine_v1_service, file_contextengine_v1_admin];
const files = createRegistry(...services, ...services.flatMap(dependencies));

function dependencies(file: typeof file_contextengine_v1_service): (typeof file_contextengine_v1_service)[] {
  return file.dependencies.flatMap((one) => [one, ...dependencies(one)]);
}

function schema(name: string): DescMessage {
  const found = files.getMessage(name);
  assert.ok(found, `no message ${name}`);
  return found;
}

function read(path: string): { message: string; vectors?: Vector[] } & Vector {
  return JSON.parse(readFileSync(path, "utf8"));
}

function check(desc: DescMessage, vector: Vector): void {
  const bytes = Buffer.from(vector.bytes, "hex");
  const message = fromBinary(desc, bytes);
  assert.deepEqual(toJson(desc, message), vector.json);
  const written = Buffer.from(toBinary(desc, message));
  if (message.$unknown === undefined && !JSON.stringify(vector).includes("unknown")) {
    assert.equal(written.toString("hex"), vector.bytes, "the same bytes are written again");
  }
  assert.deepEqual(toJson(desc, fromBinary(desc, written)), vector.json);
  assert.deepEqual(toJson(desc, fromJson(desc, vector.json as never)), vector.json);
}

test("every golden vector is read and written as in the other languages", () => {
  let seen = 0;
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
    const vector = read(join(folder, name));
    check(schema(vector.message), vector);
    seen += 1;
  }
  assert.ok(seen > 50, `only ${seen} vectors`);
});

test("every message of the contract is read and written at its corners", () => {
  let seen = 0;
  for (const name of readdirSync(join(folder, "every"))) {
    const file = read(join(folder, "every", name));
    for (const vector of file.vectors ?? []) {
      check(schema(file.message), vector);
      seen += 1;
    }
  }
  assert.ok(seen > 200, `only ${seen} vectors`);
});

test("headers and digests are those of the vectors", () => {
  let seen = 0;
  for (const name of readdirSync(folder).filter((name) => name.startsWith("message_"))) {
    const vector = read(join(folder, name));
    if (vector.digest === undefined) continue;
    const message = fromBinary(MessageSchema, Buffer.from(vector.bytes, "hex"));
    const sha = message.omitted === undefined ? sha256(message.payload) : Buffer.from(message.omitted.sha256).toString("hex");
    assert.equal(messageDigest(message.entryId, message.role, sha), vector.digest, name);
    seen += checkHeader(message, vector, name);
  }
  assert.ok(seen > 5, `only ${seen} headers`);
});

/** A payload that is no JSON is none that a program in this language holds as an object. */
function checkHeader(message: Message, vector: Vector, name: string): number {
  let payload: unknown;
  try {
    payload = JSON.parse(Buffer.from(message.payload).toString("utf8"));
  } catch {
    return 0;
  }
  if (vector.header === undefined || message.omitted !== undefined) return 0;
  const { role, timestampMs, toolCallIds, toolResultFor } = headerOf(payload);
  const header = {
    role,
    timestamp_ms: timestampMs === undefined ? null : Number(timestampMs),
    tool_call_ids: toolCallIds,
    tool_result_for: toolResultFor ?? null,
  };
  assert.deepEqual(header, vector.header, name);
  return 1;
}

test("what an engine of an older minor is sent is what the vectors say", () => {
  let seen = 0;
  for (const file of readdirSync(join(folder, "every"))) {
    const { message, vectors = [] } = read(join(folder, "every", file));
    const full = vectors.find((vector) => vector.name === "full");
    for (const aged of vectors.filter((vector) => vector.name?.startsWith("minor_"))) {
      if (full === undefined) continue;
      const sent = fromBinary(schema(message), Buffer.from(full.bytes, "hex"));
      ageTo(schema(message), sent, Number(aged.name?.slice("minor_".length)));
      assert.deepEqual(toJson(schema(message), sent), aged.json, `${file} ${aged.name}`);
      seen += 1;
    }
  }
  assert.ok(seen > 10, `only ${seen} vectors`);
});
