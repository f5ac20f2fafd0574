// The plugin's entry, as OpenClaw loads it.

import { register } from "./plugin.ts";

export default {
  id: "contextwire",
  name: "Contextwire",
  description: "A context engine in another process, over contextengine.v1",
  kind: "context-engine",
  register,
};
