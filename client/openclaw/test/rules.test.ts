import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { toBinary } from "@bufbuild/protobuf";
import { RuntimeContextSchema } from "contextwire-proto/v1/call";
import { RuntimeMode, SelectionSource } from "contextwire-proto/v1/settings";
import { NEVER_FORWARDED, SETTINGS, addressOf, readConfig } from "../src/config.ts";
import { Breaker } from "../src/wire/breaker.ts";
import { runtimeContext } from "../src/wire/runtime_context.ts";
import { runtimeSettings } from "../src/wire/runtime_settings.ts";

test("r7_4 two failures in a row open the circuit, one success closes it", () => {
  const breaker = new Breaker();
  const call = (outcome: "success" | "failure", now: number) => {
    const ticket = breaker.admit(now);
    if (ticket === undefined) return "refused";
    breaker.settle(ticket, outcome, now);
    return breaker.report(now).state;
  };
  assert.equal(call("failure", 0), "closed");
  assert.equal(call("failure", 1), "open");
  assert.equal(call("success", 900), "refused");
  assert.equal(call("failure", 1100), "open");
  assert.equal(call("success", 2900), "refused", "the cooldown doubled");
  assert.equal(call("success", 3200), "closed");
});

test("r7_4 one call probes at a time, and what was admitted before does not count", () => {
  const breaker = new Breaker();
  const early = breaker.admit(0);
  for (const now of [0, 1]) {
    const ticket = breaker.admit(now);
    assert.ok(ticket);
    breaker.settle(ticket, "failure", now);
  }
  const probe = breaker.admit(2000);
  assert.ok(probe && early);
  assert.equal(breaker.admit(2000), undefined);
  breaker.settle(early, "success", 2001);
  assert.equal(breaker.report(2001).state, "half-open");
});

test("the runtime context that travels is made of named fields, whatever else is in it", () => {
  const secret = "canary-secret";
  const raw: Record<string, unknown> = {
    ...Object.fromEntries([...NEVER_FORWARDED].map((key) => [key, { apiKey: secret }])),
    provider: "p",
    model: "m",
    cwd: "here",
    tokenBudget: 7,
    trigger: "manual",
    transcriptStorage: { kind: "sqlite", token: secret },
    promptCache: { retention: "short", headers: secret },
    somethingNew: secret,
    senderId: secret,
  };
  const context = runtimeContext(raw, [...NEVER_FORWARDED, "chatType"]);
  assert.ok(context);
  assert.equal(context.modelId, "m");
  assert.equal(context.transcriptStorage, "sqlite");
  assert.ok(!Buffer.from(toBinary(RuntimeContextSchema, context)).includes(secret));
});

test("a key that the operator named travels as JSON", () => {
  const context = runtimeContext({ chatType: { a: 1 }, send: () => 1 }, ["chatType", "send"]);
  assert.equal(Buffer.from(context?.extra["chatType"] ?? []).toString(), '{"a":1}');
  assert.equal(context?.extra["send"], undefined);
});

test("r4_1 settings are normalised as the host does it", () => {
  const settings = runtimeSettings({
    runtime: { host: "openclaw", mode: "something new", harnessId: "  " },
    model: { requested: " m ", resolved: null },
    contextEngineSelection: { selectedId: "contextwire", source: "configured" },
    limits: { promptTokenBudget: Number.NaN, maxOutputTokens: 5 },
  });
  assert.equal(settings?.runtime?.mode, RuntimeMode.DEGRADED);
  assert.equal(settings?.runtime?.harnessId, undefined);
  assert.equal(settings?.model?.requested, "m");
  assert.equal(settings?.contextEngineSelection?.source, SelectionSource.CONFIGURED);
  assert.equal(settings?.limits?.promptTokenBudget, undefined);
  assert.equal(settings?.limits?.maxOutputTokens, 5n);
  assert.equal(runtimeSettings(undefined), undefined);
});

test("every problem of a configuration is said at once", () => {
  const bad = { taget: "unix:/x", fallback: "none", runtimeContextKeys: ["config"] };
  assert.throws(
    () => readConfig(bad),
    (error: Error) => ["taget", "fallback", "`config`", "either `target`"].every((part) => error.message.includes(part)),
  );
  assert.throws(() => readConfig({ target: "unix:/a", spawn: { command: "x" } }), /either/);
});

test("plaintext never leaves the machine", () => {
  assert.equal(addressOf("unix:/run/e.sock"), "unix:/run/e.sock");
  assert.equal(addressOf("unix:///run/e.sock"), "unix:/run/e.sock");
  assert.equal(addressOf("http://127.0.0.1:5"), "127.0.0.1:5");
  for (const target of ["http://10.0.0.1:5", "engine.example:5", "unix:relative", "https://127.0.0.1:5", "127.0.0.1"]) {
    assert.equal(addressOf(target), undefined, target);
  }
});

test("trap 12: the manifest asks for no capability that an upgrade could make stale, and names every setting", () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../openclaw.plugin.json"), "utf8"));
  assert.deepEqual(Object.keys(manifest.configSchema.properties).sort(), [...SETTINGS].sort());
  assert.deepEqual(Object.keys(manifest).sort(), ["activation", "configSchema", "description", "id", "kind", "name"]);
});
