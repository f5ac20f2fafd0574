// What digesting a view costs: a long one that did not change, as new objects each time, since that is how the host
// hands it over. All is processor time, so that other programs on the machine do not count.

import { List } from "../../../client/openclaw/src/sync/list.ts";
import { digestView } from "../../../client/openclaw/src/sync/view.ts";

const MESSAGES = 5000;
const ROUNDS = 9;

const usage = { input: 26_284, output: 4, cacheRead: 0, cacheWrite: 0, totalTokens: 26_288, cost: { input: 0, output: 0, total: 0 } };
const texts = Array.from({ length: MESSAGES }, (_, at) => {
  const text = `message ${at} `.repeat(150);
  const content = at % 2 === 0 ? text : [{ type: "text", text }];
  const role = at % 2 === 0 ? { role: "user", idempotencyKey: `key-${at}` } : { role: "assistant", api: "a", model: "m", usage };
  return JSON.stringify({ ...role, content, timestamp: at, __openclaw: { runId: `run-${at}` } });
});

/** Processor time of the thread whose event loop matters; collecting garbage beside it is not in it. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Microseconds of processor time for each message, and the longest time that nothing else could run. */
async function once(before: List): Promise<{ view: List; micros: number; sliceMs: number }> {
  const messages = texts.map((text) => JSON.parse(text) as unknown);
  let sliceMs = 0;
  let last = threadMs();
  let isRunning = true;
  const look = (): void => {
    const now = threadMs();
    sliceMs = Math.max(sliceMs, now - last);
    last = now;
    if (isRunning) setImmediate(look);
  };
  setImmediate(look);
  await new Promise((resolve) => setTimeout(resolve, 20));
  sliceMs = 0;
  const began = process.cpuUsage();
  const view = await digestView(messages, before);
  const { user, system } = process.cpuUsage(began);
  isRunning = false;
  return { view, micros: (user + system) / MESSAGES, sliceMs };
}

const first = await once(List.empty);
let view = (await once(first.view)).view;
const rounds = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const measured = await once(view);
  view = measured.view;
  rounds.push(measured);
}
const middle = (values: number[]): number => Math.round((values.sort((a, b) => a - b)[values.length >> 1] ?? 0) * 100) / 100;
const bytes = texts.reduce((sum, text) => sum + text.length, 0);
console.log(
  JSON.stringify({
    messages: MESSAGES,
    bytes,
    firstMicrosPerMessage: middle([first.micros]),
    unchangedMicrosPerMessage: middle(rounds.map(({ micros }) => micros)),
    longestSliceMs: middle(rounds.map(({ sliceMs }) => sliceMs)),
  }),
);
