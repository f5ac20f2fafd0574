// `/contextwire doctor`: looks at everything that has to be right, and says what to do where it is not.

import { EngineState } from "contextwire-proto/v1/describe";
import { minorOf } from "../engine/description.ts";
import type { Runtime } from "../runtime.ts";
import { asFailure } from "../wire/failure.ts";

/** One thing that was looked at. */
export interface Finding {
  ok: boolean;
  what: string;
  /** What to do, where it is not ok. */
  remedy?: string;
}

/** Looks at everything; asks the engine who it is. */
export async function doctor(runtime: Runtime, slot: string | undefined): Promise<Finding[]> {
  const findings: Finding[] = [];
  findings.push(
    slot === "contextwire"
      ? { ok: true, what: "the host selects contextwire" }
      : { ok: false, what: `the host selects ${slot ?? "its default engine"}`, remedy: 'set plugins.slots.contextEngine to "contextwire"' },
  );
  findings.push(await engineFinding(runtime));
  findings.push(await sdkFinding(runtime));
  const { waiting, aside, lastError } = runtime.outbox.counts();
  findings.push({ ok: true, what: `the outbox in ${runtime.folder} can be read: ${waiting} waiting` });
  if (aside > 0) {
    findings.push({
      ok: false,
      what: `${aside} calls were set aside: ${lastError ?? "no reason was kept"}`,
      remedy: "their turns are in the engine's log by the next bootstrap; compare with `contextwire audit`",
    });
  }
  const { state } = runtime.engine.breaker.report(Date.now());
  if (state !== "closed") {
    findings.push({ ok: false, what: `the circuit is ${state}`, remedy: "it closes with the next call that the engine answers" });
  }
  return findings;
}

/** The findings for people. */
export function doctorText(findings: readonly Finding[]): string {
  return findings
    .map(({ ok, what, remedy }) => `${ok ? "ok" : "PROBLEM"}: ${what}${remedy === undefined ? "" : `\n  to do: ${remedy}`}`)
    .join("\n");
}

async function engineFinding(runtime: Runtime): Promise<Finding> {
  try {
    runtime.engine.acquaintance.forget();
    const described = await runtime.engine.acquaintance.ask(Date.now());
    const { engine, state } = described;
    const what = `${engine?.name} ${engine?.version} answers at ${runtime.target}, protocol minor ${minorOf(described)}`;
    if (state === EngineState.DEGRADED) {
      return { ok: false, what: `${what}, but says that it is degraded`, remedy: "see the engine's own log" };
    }
    return { ok: true, what };
  } catch (error) {
    const failure = asFailure(error);
    return {
      ok: false,
      what: `no engine answers at ${runtime.target}: ${failure.code}: ${failure.message}`,
      remedy: "start it (`contextwire serve --engine ledger --socket …`), or correct `target` in the plugin's configuration",
    };
  }
}

async function sdkFinding(runtime: Runtime): Promise<Finding> {
  try {
    await runtime.sdk();
    return { ok: true, what: "the host's transcript can be read" };
  } catch (error) {
    return {
      ok: false,
      what: `this host has no transcript API: ${String(error)}`,
      remedy: "OpenClaw 2026.9 or newer is needed",
    };
  }
}
