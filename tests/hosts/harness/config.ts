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
  const { plugin, modelPort, contextWindow = 64_000, keepRecentTokens, folder } = options;
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
        model: { primary: "mock/mock-1" },
        skipBootstrap: true,
        // A scripted model writes no summaries that would pass.
        compaction: { qualityGuard: { enabled: false }, ...(keepRecentTokens === undefined ? {} : { keepRecentTokens }) },
      },
    },
    tools: { toolSearch: false },
    models: { mode: "merge", providers: mockProvider(modelPort, contextWindow) },
    plugins: plugin === undefined ? {} : plugins(plugin, folder),
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

function plugins(config: object, folder: string): object {
  return {
    allow: ["contextwire"],
    load: { paths: [join(folder, "plugin")] },
    slots: { contextEngine: "contextwire" },
    entries: { contextwire: { enabled: true, config } },
  };
}
