// The host's runtime settings on the wire; normalised as the host does it (HOST-SEMANTICS 1.4).

import { create } from "@bufbuild/protobuf";
import {
  ReasonCode,
  RuntimeMode,
  type RuntimeSettings,
  RuntimeSettingsSchema,
  SelectionSource,
} from "contextwire-proto/v1/settings";

const MODES: Record<string, RuntimeMode> = {
  normal: RuntimeMode.NORMAL,
  fallback: RuntimeMode.FALLBACK,
  degraded: RuntimeMode.DEGRADED,
};

const SOURCES: Record<string, SelectionSource> = {
  configured: SelectionSource.CONFIGURED,
  default: SelectionSource.DEFAULT,
  unknown: SelectionSource.UNKNOWN,
};

const REASONS: Record<string, ReasonCode> = {
  provider_timeout: ReasonCode.PROVIDER_TIMEOUT,
  provider_unavailable: ReasonCode.PROVIDER_UNAVAILABLE,
  rate_limited: ReasonCode.RATE_LIMITED,
  context_overflow: ReasonCode.CONTEXT_OVERFLOW,
  runtime_unavailable: ReasonCode.RUNTIME_UNAVAILABLE,
  unknown: ReasonCode.UNKNOWN,
};

/** Absent where the host gave none. */
export function runtimeSettings(raw: unknown): RuntimeSettings | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const [runtime, model, selection, host, limits, diagnostics] = [
    "runtime",
    "model",
    "contextEngineSelection",
    "executionHost",
    "limits",
    "diagnostics",
  ].map((key) => section(raw, key));
  return create(RuntimeSettingsSchema, {
    schemaVersion: 1,
    runtime: {
      host: text(runtime, "host") ?? "openclaw",
      mode: MODES[text(runtime, "mode") ?? "normal"] ?? RuntimeMode.DEGRADED,
      ...present("harnessId", text(runtime, "harnessId")),
      ...present("runtimeId", text(runtime, "runtimeId")),
    },
    model: Object.fromEntries(
      ["requested", "resolved", "provider", "family"].map((key) => [key, text(model, key)]).filter(([, value]) => value),
    ),
    contextEngineSelection: {
      ...present("selectedId", text(selection, "selectedId")),
      source: SOURCES[text(selection, "source") ?? "unknown"] ?? SelectionSource.UNKNOWN,
    },
    executionHost: { ...present("id", text(host, "id")), ...present("label", text(host, "label")) },
    limits: {
      ...present("promptTokenBudget", tokens(limits, "promptTokenBudget")),
      ...present("maxOutputTokens", tokens(limits, "maxOutputTokens")),
    },
    diagnostics: {
      ...present("fallbackReason", reason(text(diagnostics, "fallbackReason"))),
      ...present("degradedReason", reason(text(diagnostics, "degradedReason"))),
    },
  });
}

function section(raw: object, key: string): Record<string, unknown> {
  const value = (raw as Record<string, unknown>)[key];
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(raw: Record<string, unknown> | undefined, key: string): string | undefined {
  const value = raw?.[key];
  const trimmed = typeof value === "string" ? value.trim() : "";
  return trimmed === "" ? undefined : trimmed;
}

function tokens(raw: Record<string, unknown> | undefined, key: string): bigint | undefined {
  const value = raw?.[key];
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? BigInt(Math.floor(value)) : undefined;
}

function reason(code: string | undefined): ReasonCode | undefined {
  return code === undefined ? undefined : (REASONS[code] ?? ReasonCode.UNKNOWN);
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
}
