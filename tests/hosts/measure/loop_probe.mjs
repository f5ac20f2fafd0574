// Loaded into a gateway before everything else: how late its event loop is, from a signal on to the end of the process.

import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const file = process.env.CONTEXTWIRE_LOOP_FILE;
// Programs that the gateway starts inherit the environment; the gateway itself says which one it is.
if (file !== undefined && process.argv.includes("gateway") && process.argv.includes("run")) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  // A signal that the gateway has no use for.
  process.on("SIGWINCH", () => delay.reset());
  process.on("exit", () => {
    const ms = (nanoseconds) => Math.round(nanoseconds / 1e4) / 100;
    writeFileSync(file, JSON.stringify({ p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) }));
  });
}
