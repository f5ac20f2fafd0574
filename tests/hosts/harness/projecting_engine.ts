// An engine that shows a summary once an epoch, as a test says, over a socket in this process.

import { ScriptedEngine } from "../../../client/openclaw/test/scripted_engine.ts";

/** What a test says of it. */
export interface Projection {
  /** Absent: the context goes with every turn. */
  epoch?: string;
  fingerprint?: string;
  summary: string;
  addition?: string;
}

/** The engine. */
export class ProjectingEngine extends ScriptedEngine {
  /** Its own version; the projection's stays. */
  version = "1";
  projectionVersion = "p1";
  private shown: Projection = { summary: "" };

  /** From now on it shows this. */
  show(projection: Projection): void {
    this.shown = projection;
    const { epoch, fingerprint, summary, addition } = projection;
    const payload = Buffer.from(JSON.stringify({ role: "user", content: summary, timestamp: 1 }));
    const insert = { kind: { case: "insert", value: { payload, role: "user", synthetic: true } } };
    const value = {
      segments: [insert],
      estimatedTokens: 100n,
      ...(addition === undefined ? {} : { systemPromptAddition: addition }),
      ...(epoch === undefined ? {} : { contextProjection: { mode: 2, epoch, ...(fingerprint === undefined ? {} : { fingerprint }) } }),
    };
    this.script = { act: { Describe: { answer: this.description() }, Assemble: { answer: { outcome: { case: "messages", value } } } } };
  }

  /** What is in the thread is right: the host says that it knows. */
  unchanged(): void {
    const answer = { outcome: { case: "unchanged", value: { estimatedTokens: 100n } } };
    this.script = { act: { Describe: { answer: this.description() }, Assemble: { answer } } };
  }

  /** Every Assemble fails. */
  fail(): void {
    this.script = { act: { Describe: { answer: this.description() }, Assemble: { fail: "ENGINE_FAILURE" } } };
  }

  /** The same engine in another version, in a process of its own. */
  async upgrade(version: string): Promise<void> {
    this.stop();
    this.version = version;
    this.show(this.shown);
    await this.start();
  }

  private description(): object {
    const methods = ["Describe", "Ingest", "Assemble", "Compact", "AfterTurn", "CommitTurn"];
    const { version, projectionVersion } = this;
    const engine = { id: "scripted", name: "Scripted", version, projectionVersion, methods, transcriptSync: 2 };
    return { protocol: { major: 1, minor: 3 }, engine };
  }
}
