// The configuration of a gateway: a scripted model, the plugin, and secrets that no engine may see.

import { join } from "node:path";
import type { GatewayOptions } from "./gateway.ts";

/** What no engine may ever see. */
export const CANARIES = {
  apiKey: "canary-api-key-5d0f3a",
  gatewayToken: "canary-gateway-token-91be77",
  header: "canary-header-c4d2a8",
};

/** The whole configuration. */
export function configOf(options: GatewayOptions, { home, port }: { home: string; port: number }): object {
  const { plugin, modelPort, contextWindow = 64_000, keepRecentTokens, folder, codex } = options;
  return {
    logging: { file: join(folder, "openclaw.log") },
    gateway: {
      mode: "local",
      bind: "loopback",
      port,
      auth: { mode: "token", token: CANARIES.gatewayToken },
      controlUi: { enabled: false },
    },
    discovery: { mdns: { mode: "off" } },
    update: { checkOnStart: false },
    agents: {
      defaults: {
        workspace: join(home, "workspace"),
        model: { primary: codex !== true ? "mock/mock-1" : `openai/${CODEX_MODEL}` },
        skipBootstrap: true,
        // A scripted model writes no summaries that would pass.
        compaction: { qualityGuard: { enabled: false }, ...(keepRecentTokens === undefined ? {} : { keepRecentTokens }) },
      },
    },
    tools: { toolSearch: false },
    models: { mode: "merge", providers: codex !== true ? mockProvider(modelPort, contextWindow) : codexProvider(contextWindow) },
    plugins: plugin === undefined ? {} : plugins(plugin, options),
  };
}

function modelOf(id: string, contextWindow: number): object {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  return { id, name: id, reasoning: false, input: ["text"], cost, contextWindow, maxTokens: 4096 };
}

function mockProvider(port: number, contextWindow: number): object {
  return {
    mock: {
      baseUrl: `http://127.0.0.1:${port}/v1`,
      apiKey: CANARIES.apiKey,
      headers: { "x-canary": CANARIES.header },
      api: "openai-completions",
      models: [modelOf("mock-1", contextWindow)],
    },
  };
}

/** A model that Codex's own catalog does not have: for those that it has, OpenClaw keeps the engine out of turns. */
const CODEX_MODEL = "mock-cx-1";

function codexProvider(contextWindow: number): object {
  const models = [modelOf(CODEX_MODEL, contextWindow)];
  return { openai: { agentRuntime: { id: "codex" }, api: "openai-responses", baseUrl: "https://api.openai.com/v1", models } };
}

function plugins(config: object, { folder, codex, modelPort }: GatewayOptions): object {
  const ours = { allow: ["contextwire"], paths: [join(folder, "plugin")], entries: { contextwire: { enabled: true, config } } };
  const slots = { contextEngine: "contextwire" };
  if (codex !== true) return { allow: ours.allow, load: { paths: ours.paths }, slots, entries: ours.entries };
  // The native program talks to the scripted model instead of its own service.
  const base = `openai_base_url="http://127.0.0.1:${modelPort}/v1"`;
  const args = ["app-server", "-c", base, "-c", "features.plugins=false", "--listen", "stdio://"];
  const entry = { enabled: true, config: { sessionCatalog: { enabled: false }, appServer: { args } } };
  return {
    allow: [...ours.allow, "codex", "openai"],
    load: { paths: ours.paths },
    slots,
    entries: { ...ours.entries, codex: entry },
  };
}
