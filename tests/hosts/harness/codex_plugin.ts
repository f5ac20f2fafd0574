// OpenClaw's Codex plugin, installed by OpenClaw itself: loaded from a folder it may not register its harness.

import { homedir } from "node:os";
import { join } from "node:path";

/** In an exact version; what it depends on is pinned by it. The one of OpenClaw's own version is not published. */
export const CODEX_PLUGIN = "npm:@openclaw/codex@2026.9.5";

/** Certificates, proxies and the registry of this machine: npm needs them, and the home of a test has none. */
const FOR_NPM = /^(NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|(HTTPS?|NO)_PROXY|npm_config_.*)$/i;

/** What an installation needs of this process's environment. */
export function npmEnvironment(): NodeJS.ProcessEnv {
  const passed = Object.entries(process.env).filter(([key]) => FOR_NPM.test(key));
  const npm = { npm_config_userconfig: join(homedir(), ".npmrc"), npm_config_cache: process.env["CONTEXTWIRE_NPM_CACHE"] };
  return { ...npm, ...Object.fromEntries(passed) };
}
