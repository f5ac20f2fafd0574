// What the plugin costs a gateway: the delay of its event loop over the same turns on OpenClaw's own engine and on the
// plugin with a ledger, three runs each in turn, and what the plugin says of itself. Not a test: figures depend on the
// machine. `node tests/hosts/run.mjs measure`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { scratch } from "../harness/paths.ts";

const RUNS = 3;
const TURNS = 12;
const PROBE = join(import.meta.dirname, "loop_probe.mjs");
const ANSWER = "a few words of an answer ".repeat(80);

interface Figures {
  engine: string;
  p50: number;
  p99: number;
  max: number;
  own?: object;
}

async function once(kind: "legacy" | "contextwire"): Promise<Figures> {
  const folder = scratch(kind);
  const model = new MockModel();
  const engine = new EngineProcess(folder, "ledger");
  if (kind === "contextwire") await engine.start();
  const file = join(folder, "loop.json");
  const gateway = new Gateway({
    folder,
    modelPort: await model.listen(),
    plugin: kind === "contextwire" ? { target: `unix:${engine.socket}` } : undefined,
    env: { NODE_OPTIONS: `--import ${PROBE}`, CONTEXTWIRE_LOOP_FILE: file },
  });
  await gateway.start();
  // The first turn loads half of the gateway.
  await gateway.say("measured", "first");
  gateway.signal("SIGWINCH");
  for (let turn = 0; turn < TURNS; turn += 1) {
    const { code, stderr } = await gateway.say("measured", `turn ${turn} [[say:${ANSWER}]]`);
    if (code !== 0) throw new Error(stderr);
  }
  const own = kind === "contextwire" ? (await gateway.call<{ own: object }>("contextwire.status")).own : undefined;
  await gateway.stop();
  await engine.stop();
  model.close();
  return { engine: kind, ...(JSON.parse(readFileSync(file, "utf8")) as Omit<Figures, "engine">), ...(own === undefined ? {} : { own }) };
}

for (let run = 0; run < RUNS; run += 1) {
  for (const kind of ["legacy", "contextwire"] as const) console.log(JSON.stringify(await once(kind)));
}
