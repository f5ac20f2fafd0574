// Stands between a host and the real `codex`: keeps every frame, and can hold back the answer to a request.
//
//   FOLDER/frames.jsonl      what was said, one `{way, message}` a line
//   FOLDER/hold              while it is there, it names the method whose answers are held back
//   FOLDER/held              is made when one is
//   FOLDER/pid               the process of the real program

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const folder = process.env.CODEX_RELAY_FOLDER;
const real = process.env.CODEX_RELAY_PROGRAM;
const child = spawn(real, process.argv.slice(2), { stdio: ["pipe", "pipe", "inherit"] });
const asked = new Map();
writeFileSync(join(folder, "pid"), String(child.pid));

function keep(way, line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return undefined;
  }
  appendFileSync(join(folder, "frames.jsonl"), `${JSON.stringify({ way, message })}\n`);
  return message;
}

function isHeld(message) {
  const hold = join(folder, "hold");
  if (message?.method !== undefined || !existsSync(hold)) return false;
  return asked.get(message?.id) === readFileSync(hold, "utf8");
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const message = keep("out", line);
    if (message?.method !== undefined) asked.set(message.id, message.method);
    child.stdin.write(`${line}\n`);
  })
  .on("close", () => child.stdin.end());

createInterface({ input: child.stdout }).on("line", (line) => {
  const message = keep("in", line);
  if (isHeld(message)) return writeFileSync(join(folder, "held"), "");
  process.stdout.write(`${line}\n`);
});

child.on("exit", (code) => process.exit(code ?? 1));
