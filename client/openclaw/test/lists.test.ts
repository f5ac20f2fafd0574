import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { NeedTranscriptSchema, TranscriptList, type TranscriptUpdate } from "contextwire-proto/v1/transcript";
import { Book } from "../src/sync/book.ts";
import { diff } from "../src/sync/diff.ts";
import { List, itemOf, stateOf, wireState } from "../src/sync/list.ts";
import { type Peer, Upload } from "../src/sync/upload.ts";
import { sameJson } from "../src/sync/same_json.ts";
import { digestView } from "../src/sync/view.ts";

const peer = (over: Partial<Peer> = {}): Peer => ({ book: new Book(), session: "s", full: false, maxBytes: 16 << 20, ...over });
const list = (...texts: string[]): List => List.of(texts.map((text) => itemOf({ role: "user", content: text }, "")));

/** What an engine makes of parts over a base. */
function apply(base: List, parts: TranscriptUpdate[]): List {
  let held: List = List.empty;
  for (const part of parts) {
    for (const { kind } of part.segments) {
      if (kind.case === "keep") {
        const start = Number(kind.value.start);
        held = held.append(base.items.slice(start, start + Number(kind.value.count)));
      } else if (kind.case === "insert") {
        held = held.append([itemOf(JSON.parse(Buffer.from(kind.value.payload).toString("utf8")), kind.value.entryId)]);
      }
    }
    assert.deepEqual(stateOf(part.head), held.state, "each part's head is the state after it");
  }
  return held;
}

function sent(upload: Upload): TranscriptUpdate[] {
  const parts = [upload.begin() as TranscriptUpdate];
  for (let part = upload.nextPart(); part !== undefined; part = upload.nextPart()) parts.push(part);
  return parts;
}

test("r3_5 the difference of any two lists makes the one of the other, in ascending ranges", () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 64; round += 1) {
    const texts = Array.from({ length: random(30) }, () => `m${random(12)}`);
    const edited = texts.filter(() => random(5) > 0).flatMap((text) => (random(6) === 0 ? [text, `new${random(99)}`] : [text]));
    const [base, next] = [list(...texts), list(...edited)];
    const keeps = diff(base, next).flatMap((run) => ("keep" in run ? [run.keep] : []));
    for (const [at, keep] of keeps.entries()) {
      const before = keeps[at - 1];
      assert.ok(keep.count >= 1 && keep.start + keep.count <= base.length);
      assert.ok(before === undefined || before.start + before.count <= keep.start);
    }
    const book = new Book();
    book.acknowledge("s", "VIEW", "before-prompt", base);
    const parts = sent(Upload.ofView(peer({ book, maxBytes: 65 * 1024 + 600 }), "before-prompt", next, undefined));
    assert.equal(apply(base, parts).state.chain, next.state.chain);
    assert.ok(parts.every((part, at) => part.more === at < parts.length - 1));
  }
});

test("r3_6 a host that knows nothing of the engine names its head alone", () => {
  const view = list("a", "b");
  const [first, ...rest] = sent(Upload.ofView(peer(), "before-prompt", view, undefined));
  assert.equal(rest.length, 0);
  assert.deepEqual(stateOf(first?.base), view.state);
  assert.equal(first?.segments.length, 0);
});

test("r3_6 it answers from the highest state that it knows, and a third request is a breach", () => {
  const view = list("a", "b", "c");
  const upload = Upload.ofView(peer(), "before-prompt", view, undefined);
  upload.begin();
  const need = (seq: number) => create(NeedTranscriptSchema, { seq, list: TranscriptList.VIEW, have: [wireState(view.prefix(2).state)] });
  upload.answer(need(2));
  const answer = upload.nextPart();
  assert.deepEqual(stateOf(answer?.base), view.prefix(2).state);
  assert.equal(answer?.segments.length, 2, "two kept in one range, one inserted");
  upload.answer(need(3));
  assert.throws(() => upload.answer(need(4)), /request 3/);
});

test("r3_3 a log that the host cannot serve is said to be unavailable", () => {
  const upload = Upload.ofView(peer(), "before-prompt", list("a"), undefined);
  upload.begin();
  upload.answer(create(NeedTranscriptSchema, { seq: 1, list: TranscriptList.LOG }));
  assert.equal(upload.nextPart()?.unavailable, true);
});

test("r3_7 after a mismatch everything is sent, after three for ever", () => {
  const at = peer();
  const view = list("a", "b");
  const start = () => sent(Upload.ofView(at, "before-prompt", view, undefined))[0];
  const upload = Upload.ofView(at, "before-prompt", view, undefined);
  upload.begin();
  assert.equal(upload.mismatch(), false);
  assert.equal(start()?.segments.length, 2, "in full");
  at.book.acknowledge("s", "VIEW", "before-prompt", view);
  assert.deepEqual(stateOf(start()?.base), view.state, "until one is acknowledged");
  assert.deepEqual([1, 2, 3].map(() => upload.mismatch()), [false, false, true]);
  at.book.acknowledge("s", "VIEW", "before-prompt", view);
  assert.equal(start()?.segments.length, 2, "for the life of the process");
});

test("r2_5 a message over the limit travels as a stub under its own digest", () => {
  const item = itemOf({ role: "user", content: "x".repeat(5000) }, "e1");
  const parts = sent(Upload.ofLog(peer({ full: true, maxBytes: 64 * 1024 + 2000 }), List.of([item])));
  const kind = parts[0]?.segments[0]?.kind;
  assert.ok(kind?.case === "insert");
  assert.equal(kind.value.omitted?.bytes, BigInt(item.json.length));
  assert.ok(kind.value.payload.length < 200);
  assert.equal(stateOf(parts[0]?.head).chain, List.of([item]).state.chain);
});

test("r3_2 a view and a log of one session have each their own acknowledged states", () => {
  const book = new Book();
  book.acknowledge("s", "LOG", "log", list("a"));
  assert.equal(book.start("s", "VIEW", "before-prompt"), "unknown");
  assert.deepEqual(book.start("s", "LOG", "log"), { from: list("a") });
});

test("a message that the host changed in place is digested anew", async () => {
  const message = { role: "user", content: "one" };
  let before = await digestView([message], List.empty);
  for (let again = 0; again < 3; again += 1) before = await digestView([message], before);
  message.content = "two";
  const after = await digestView([message], before);
  assert.notEqual(after.state.chain, before.state.chain);
  assert.equal(after.items[0]?.source, message);
});

test("a value is the same as its JSON exactly when it would be written so", () => {
  const values: unknown[] = [
    { a: 1, b: [1, null, "x"] },
    { b: [1, null, "x"], a: 1 },
    { a: 1, b: [1, null, "x"], c: undefined },
    { a: Number.NaN },
    { a: null },
    { a: -0 },
    { a: new Date(0) },
    { a: { length: 0 } },
    { a: [] },
    [1, 2],
    { 0: 1, 1: 2 },
    "text",
    null,
  ];
  for (const value of values) {
    for (const other of values) {
      const held: unknown = JSON.parse(JSON.stringify(other));
      // It may call equal values different, as those with an undefined field; that costs time and nothing else.
      if (sameJson(value, held)) assert.equal(JSON.stringify(value), JSON.stringify(other));
    }
    const plain: unknown = JSON.parse(JSON.stringify(value));
    assert.ok(sameJson(plain, JSON.parse(JSON.stringify(value))));
  }
});
