import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { MessageSchema } from "contextwire-proto/v1/message";
import { SegmentSchema } from "contextwire-proto/v1/transcript";
import { judge, judgeSize } from "../src/answer/gate.ts";
import { join, lastGood } from "../src/answer/last_good.ts";
import { type AnswerRun, materialise, readSegments } from "../src/answer/segments.ts";
import { fit } from "../src/answer/window.ts";
import { List, itemOf } from "../src/sync/list.ts";

const user = (text: string, timestamp: number) => ({ role: "user", content: text, timestamp });
const said = (text: string, timestamp: number) => ({ role: "assistant", content: [{ type: "text", text }], timestamp });
const call = (id: string) => ({ role: "assistant", content: [{ type: "toolCall", id, name: "ls", arguments: {} }] });
const result = (id: string) => ({ role: "toolResult", toolCallId: id, content: [] });
const listOf = (...messages: object[]): List => List.of(messages.map((message) => itemOf(message, "")));
const summary: AnswerRun = { insert: create(MessageSchema, { payload: Buffer.from('{"role":"user","content":"summary"}') }) };
const keep = (start: number, end: number): AnswerRun => ({ keep: { start, end } });

function segment(start: number, count: number) {
  return create(SegmentSchema, { kind: { case: "keep", value: { start: BigInt(start), count: BigInt(count) } } });
}

test("r3_5 ranges outside the list and indexes that come twice are breaches", () => {
  assert.deepEqual(readSegments([segment(1, 2)], 3), [keep(1, 3)]);
  assert.throws(() => readSegments([segment(2, 2)], 3), /lies outside/);
  assert.throws(() => readSegments([segment(0, 2), segment(1, 1)], 3), /is there twice/);
  assert.throws(() => readSegments([segment(0, 0)], 3), /lies outside/);
});

test("r7_7 an empty context for a list with a user message is a breach", () => {
  assert.throws(() => judge([], listOf(user("a", 1)), false), /empty/);
  judge([], List.empty, false);
});

test("r7_7 a pair that the engine broke is a breach, one that was broken before is not", () => {
  const list = listOf(user("a", 1), call("c1"), result("c1"), user("b", 2));
  assert.throws(() => judge([keep(0, 2), keep(3, 4)], list, false), /call has lost its result/);
  assert.throws(() => judge([keep(2, 4)], list, false), /result has lost its call/);
  judge([summary, keep(3, 4)], list, false);
  judge([keep(1, 3)], listOf(user("a", 1), call("c1"), user("b", 2)), false);
});

test("r7_7 where the list holds the current turn, its user message may not be lost", () => {
  const list = listOf(user("a", 1), said("b", 2), user("now", 3));
  assert.throws(() => judge([keep(0, 2)], list, true), /newest user message/);
  judge([keep(0, 2)], list, false);
});

test("r7_7 a little over the budget is the host's to check, much over is not used", () => {
  assert.equal(judgeSize(900, 1000), false);
  assert.equal(judgeSize(2100, 2000), true);
  assert.throws(() => judgeSize(2300, 2000), /2300 tokens/);
  assert.equal(judgeSize(5000, 100), true, "too small to be judged");
  assert.equal(judgeSize(5000, undefined), false);
});

test("r7_13 the last good answer goes up to the newest user message that both lists have", () => {
  const [a, b, c, d, e] = [user("a", 1), said("b", 2), user("c", 3), said("d", 4), user("e", 5)];
  const good = lastGood(listOf(a, b, c), [summary, keep(2, 3)]);
  const joined = join(good, listOf(a, b, c, d, e));
  assert.deepEqual(joined, [{ role: "user", content: "summary" }, c, d, e]);
});

test("r7_13 what was rewritten since does not come back", () => {
  const [a, b, c] = [user("a", 1), said("b", 2), user("c", 3)];
  const good = lastGood(listOf(a, b, c), [summary, keep(2, 3)]);
  assert.equal(join(good, listOf(user("erased", 1), b, c)), undefined);
  assert.equal(join(good, listOf(user("x", 9))), undefined);
});

test("r7_13 two candidates are none", () => {
  const good = lastGood(listOf(user("a", 1)), [keep(0, 1)]);
  assert.equal(join(good, listOf(user("a", 1), user("b", 1))), undefined);
});

test("kept messages are the caller's own objects", () => {
  const [a, b] = [user("a", 1), said("b", 2)];
  const made = materialise([keep(1, 2), summary], [a, b]);
  assert.equal(made[0], b);
  assert.deepEqual(made[1], { role: "user", content: "summary" });
});

test("a list that is over the budget loses whole turns from its start, never its newest", () => {
  const turn = (n: number) => [user("x".repeat(400), n), call(`c${n}`), result(`c${n}`), said("y".repeat(400), n)];
  const all = [1, 2, 3].flatMap(turn);
  assert.deepEqual(fit(all, 10_000), all);
  assert.deepEqual(fit(all, 300), all.slice(8));
  assert.deepEqual(fit(all, 1), all.slice(8));
  assert.deepEqual(fit(all, undefined), all);
});
