// What is there once a process: the channel, the plugin's file, the outbox, the sessions. The host makes and drops engine
// objects as turns come and go, and may register the plugin several times.

import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { homedir } from "node:os";
import { join } from "node:path";
import { TurnMaintenanceMode } from "contextwire-proto/v1/describe";
import { type Config, addressOf } from "./config.ts";
import { Acquaintance, implementsMethod, keepsMirrors } from "./engine/description.ts";
import { Engine } from "./engine/engine.ts";
import { SpawnedEngine } from "./engine/spawned.ts";
import { settle } from "./hook/bootstrap.ts";
import type { StoredErasure } from "./hook/erase.ts";
import type { AssembleParams, HostSdk, Logger } from "./host/types.ts";
import { Meta, openDatabase } from "./outbox/database.ts";
import { Delivery } from "./outbox/delivery.ts";
import { Lineage } from "./outbox/lineage.ts";
import { SpawnJournal } from "./outbox/spawn_journal.ts";
import { OutboxStore } from "./outbox/store.ts";
import { OwnCost } from "./own_cost.ts";
import { type Session, Sessions } from "./session/session.ts";
import { Channel } from "./wire/channel.ts";
import type { HookFailure } from "./wire/failure.ts";

/** How long the host gets to store what a turn said last, before the log is looked at again. */
const SETTLE_MS = 500;

/** The longest that a turn may go on with an engine that is not configured any more. */
const RETIRE_MS = 60_000;

/** The module is evaluated before there is a turn. */
const OUTSIDE = AsyncLocalStorage.snapshot();

/** What the host goes by. */
export interface HostFacingInfo {
  id: string;
  name: string;
  version: string;
  ownsCompaction: boolean;
  turnMaintenanceMode: "foreground" | "background";
  transcriptSemantics: { currentTurnFence: string; turnAdvancementIdempotency: string };
  hostRequirements?: Record<string, { requiredCapabilities: string[]; unsupportedMessage?: string }>;
}

/** What a runtime is made of. */
export interface RuntimeParts {
  config: Config;
  logger: Logger;
  stateDir: string | undefined;
  hostVersion: string;
  loadSdk: () => Promise<HostSdk>;
}

/** One per process and configuration. */
export class Runtime {
  readonly config: Config;
  readonly logger: Logger;
  readonly folder: string;
  readonly target: string;
  readonly spawned: SpawnedEngine | undefined;
  readonly engine: Engine;
  readonly sessions: Sessions;
  readonly lineage: Lineage;
  readonly outbox: OutboxStore;
  readonly spawns: SpawnJournal;
  readonly delivery: Delivery;
  readonly own = new OwnCost();
  /** Who answered the last assembly. */
  servedBy = "nobody yet";
  /** Runs something as if no turn were running. */
  readonly outside = OUTSIDE;
  private readonly channel: Channel;
  private readonly db: DatabaseSync;
  private readonly loadSdk: () => Promise<HostSdk>;
  private lookedForOrphans = false;
  private loadedSdk: Promise<HostSdk> | undefined;
  private readonly warned = new Set<string>();
  private readonly settling = new Map<string, NodeJS.Timeout>();

  constructor({ config, logger, stateDir, hostVersion, loadSdk }: RuntimeParts) {
    this.config = config;
    this.logger = logger;
    this.loadSdk = loadSdk;
    this.folder = config.stateDir ?? join(stateDir ?? join(homedir(), ".openclaw"), "contextwire");
    this.db = openDatabase(this.folder);
    const meta = new Meta(this.db);
    this.spawned = config.spawn === undefined ? undefined : new SpawnedEngine(config.spawn, logger);
    this.target = this.spawned?.address ?? addressOf(config.target ?? "") ?? "";
    const engineKey = config.target ?? `spawn ${config.spawn?.command} ${config.spawn?.args.join(" ")}`;
    this.channel = new Channel(this.target);
    const acquaintance = new Acquaintance(this.channel, meta, engineKey, { version: hostVersion, instance: randomUUID() });
    const identity = { epoch: meta.nextEpoch(Date.now()), affinityKey: meta.affinityKey() };
    this.engine = new Engine(this.channel, acquaintance, identity, (text) => this.changed(text));
    this.lineage = new Lineage(this.db);
    this.outbox = new OutboxStore(this.db, engineKey);
    this.spawns = new SpawnJournal(this.db, engineKey, this.outbox);
    this.sessions = new Sessions(() => this.sdk(), this.lineage);
    this.delivery = new Delivery(this);
  }

  /** A gateway started, or a hook is called: the engine is needed, and what waits for it may go. */
  start(): void {
    this.spawned?.start();
    if (!this.lookedForOrphans) {
      this.lookedForOrphans = true;
      for (const id of this.spawns.orphans(Date.now())) this.spawns.settle(id, "ROLLED_BACK", Date.now());
    }
    this.delivery.wake();
  }

  /** A session is no more at the host: what it still had to say goes with it, and the engine is told behind its calls. */
  erase(erasure: StoredErasure): void {
    const { sessionId } = erasure;
    clearTimeout(this.settling.get(sessionId));
    this.settling.delete(sessionId);
    this.sessions.forget(sessionId);
    this.lineage.forget(sessionId);
    this.outbox.eraseSession(sessionId, JSON.stringify(erasure), Date.now());
  }

  /** The gateway stops, and may start again in this process. */
  pause(): void {
    this.delivery.pause();
    this.spawned?.pause();
  }

  sdk(): Promise<HostSdk> {
    this.loadedSdk ??= this.loadSdk();
    return this.loadedSdk;
  }

  /** The engine's own description, the configuration's while it was never seen. The id never changes: the host keys
   * what it stores of a turn by it. */
  info(): HostFacingInfo {
    const seen = this.engine.acquaintance.lastSeen?.engine;
    const { engine } = this.config;
    const isBackground = seen?.turnMaintenanceMode === TurnMaintenanceMode.BACKGROUND;
    const info: HostFacingInfo = {
      id: "contextwire",
      name: seen === undefined ? "Contextwire" : `Contextwire (${seen.name})`,
      version: seen === undefined ? "unknown" : `${seen.id}/${seen.projectionVersion ?? seen.version}`,
      ownsCompaction: seen?.ownsCompaction ?? engine.ownsCompaction,
      turnMaintenanceMode: seen === undefined ? engine.turnMaintenanceMode : isBackground ? "background" : "foreground",
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    };
    const requirements = seen?.hostRequirements ?? [];
    if (requirements.length > 0) {
      info.hostRequirements = Object.fromEntries(
        requirements.map(({ operation, capabilities, unsupportedMessage }) => [
          operation,
          { requiredCapabilities: capabilities, ...(unsupportedMessage === undefined ? {} : { unsupportedMessage }) },
        ]),
      );
    }
    return info;
  }

  /** Whether the engine stores a log; one that was never seen may. */
  get wantsLog(): boolean {
    const seen = this.engine.acquaintance.lastSeen?.engine;
    return seen === undefined || implementsMethod(seen, "Bootstrap") || implementsMethod(seen, "CommitTurn");
  }

  get keepsMirrors(): boolean {
    return keepsMirrors(this.engine.acquaintance.lastSeen?.engine);
  }

  /** The host's own memory guidance for this run, from its SDK. */
  async memoryPrompt(params: AssembleParams): Promise<string | undefined> {
    if (params.availableTools === undefined) return undefined;
    try {
      const { citationsMode } = params;
      const asked = { availableTools: new Set(params.availableTools), ...(citationsMode === undefined ? {} : { citationsMode }) };
      return (await this.sdk()).memoryPrompt(asked);
    } catch (error) {
      this.warnOnce("memory", `the host's memory guidance cannot be read (${String(error)})`);
      return undefined;
    }
  }

  /** Looks at a session's log once more when its turn is stored: an announcement ends without a commit. */
  settleLater(session: Session): void {
    clearTimeout(this.settling.get(session.id));
    const timer = this.outside(() =>
      setTimeout(() => {
        this.settling.delete(session.id);
        settle(this, session).catch((error: unknown) => this.warnOnce("settle", `a log could not be handed over: ${String(error)}`));
      }, SETTLE_MS),
    );
    timer.unref();
    this.settling.set(session.id, timer);
  }

  /** A hook was not answered: said once per kind and reason, so that a log tells and does not fill. */
  engineFailed(hook: string, failure: HookFailure): void {
    const known = ["absent", "breaker-open", "syncing"];
    if (known.includes(failure.kind)) return;
    this.warnOnce(`${hook} ${failure.code}`, `${hook} was not answered (${failure.code}: ${failure.message}); see /contextwire doctor`);
  }

  warnOnce(key: string, text: string): void {
    if (this.warned.has(key)) return;
    if (this.warned.size < 256) this.warned.add(key);
    this.logger.warn(`contextwire: ${text}`);
  }

  /** Another configuration took its place: what runs may end, nothing new begins. */
  retire(): void {
    this.delivery.stop();
    setTimeout(() => this.stop(), RETIRE_MS).unref();
  }

  /** Ends everything that this process opened. */
  stop(): void {
    this.delivery.stop();
    for (const timer of this.settling.values()) clearTimeout(timer);
    this.spawned?.stop();
    this.channel.close();
    this.db.close();
  }

  private changed(text: string): void {
    this.logger.warn(`contextwire: ${text}`);
    if (text.includes("again")) {
      this.warned.clear();
      this.delivery.wake();
    }
  }
}
