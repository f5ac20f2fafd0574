// Twenty turns whose history is far over the budget: with an engine that keeps what fits, with one that leaves compaction
// to the host, and with one that summarises.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { EngineProcess } from "../harness/engine.ts";
import { Gateway } from "../harness/gateway.ts";
import { MockModel } from "../harness/mock_model.ts";
import { contextwire, scratch } from "../harness/paths.ts";
import { everySessionIsStoredOnce } from "../harness/stored.ts";

const TURNS = 20;
/** About 1 500 tokens. The host leaves about 6 000 of this window for the history. */
const LONG = "all work and no play ".repeat(300);
const WINDOW = 48_000;

for (const kind of ["windowed", "ledger", "lossless"] as const) {
  describe(`twenty turns over budget on the ${kind} engine`, () => {
    const folder = scratch(kind);
    const model = new MockModel();
    const engine = new EngineProcess(folder, kind);
    let gateway: Gateway;

    before(async () => {
      if (kind !== "windowed") await engine.start();
      // That one is started by the plugin.
      const spawn = { command: contextwire(), args: ["serve", "--engine", kind] };
      const plugin = kind !== "windowed" ? { target: `unix:${engine.socket}` } : { spawn };
      gateway = new Gateway({ folder, modelPort: await model.listen(), plugin, contextWindow: WINDOW });
      await gateway.start();
    });

    after(async () => {
      await gateway?.stop();
      await engine.stop();
      model.close();
    });

    test("every turn is answered, and the model never sees more than fits", async () => {
      for (let turn = 1; turn <= TURNS; turn += 1) {
        const { code, stderr } = await gateway.say("long", `turn ${turn}. [[say:${turn}: ${LONG}]]`);
        assert.equal(code, 0, stderr);
      }
      const { servedBy } = await gateway.call<{ servedBy: string }>("contextwire.status");
      assert.equal(servedBy, "engine");
      const last = model.lastWith(`turn ${TURNS}.`).raw;
      assert.ok(last.includes(`turn ${TURNS - 1}.`), "the turn before is there");
      // The host's summary quotes the beginning of what it stands for.
      assert.ok(!last.includes(`turn 2. [[say:2: ${LONG}`), "the second turn is not there word by word");
    });

    test("the host never went past the plugin", () => {
      assert.deepEqual(gateway.complaints, []);
    });

    if (kind !== "windowed") {
      test("every message is stored once, those from before the compaction as well", async () => {
        await everySessionIsStoredOnce(engine, gateway);
      });
    }
  });
}
