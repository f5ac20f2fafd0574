// Where things are: the repository, the hosts that were installed beside it, the command that was built.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The repository. */
export const REPOSITORY = resolve(import.meta.dirname, "../../..");

function fromEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set: run \`cargo xtask hosts\``);
  return value;
}

/** Where the hosts are installed. */
export const hosts = (): string => fromEnvironment("CONTEXTWIRE_HOSTS");

/** The `contextwire` command. */
export const contextwire = (): string => fromEnvironment("CONTEXTWIRE_BIN");

/** The start of OpenClaw's command. */
export const openclaw = (): string => join(hosts(), "node_modules/openclaw/openclaw.mjs");

/** The native `codex` program. */
export const codex = (): string => join(hosts(), "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");

/** A new folder with a short name: sockets go into it. */
export function scratch(name: string): string {
  return mkdtempSync(join(tmpdir(), `cw-${name}-`));
}
