// When calls go to the engine and when not (R7.4). It is told the time; it neither waits nor sends.

/** How a call that went out ended. */
export type Outcome = "success" | "failure" | "breach" | "unjudged";

const IN_A_ROW = 2;
const WINDOW = { many: 3, ms: 60_000 };
const SLOW_WINDOW = { many: 5, ms: 600_000 };
const FIRST_COOLDOWN_MS = 1000;
const LONGEST_COOLDOWN_MS = 60_000;

/** The right to one call, settled once. */
export interface Ticket {
  epoch: number;
}

/** The circuit of one engine. */
export class Breaker {
  private state: "closed" | "open" | "half-open" = "closed";
  private epoch = 0;
  private until = 0;
  private cooldown = FIRST_COOLDOWN_MS;
  private probeIsOut = false;
  private inARow = 0;
  private failures: number[] = [];
  private breaches: number[] = [];

  /** Asks for the right to call. Absent: not now. */
  admit(now: number): Ticket | undefined {
    if (this.state === "closed") return { epoch: this.epoch };
    if (this.state === "open") {
      if (now < this.until) return undefined;
      this.turn("half-open");
    } else if (this.probeIsOut) {
      return undefined;
    }
    this.probeIsOut = true;
    return { epoch: this.epoch };
  }

  /** Takes in how an admitted call ended. True when the circuit opened or closed by it. */
  settle(ticket: Ticket, outcome: Outcome, now: number): boolean {
    if (ticket.epoch !== this.epoch || this.state === "open") return false;
    return this.state === "closed" ? this.count(outcome, now) : this.decide(outcome, now);
  }

  /** `closed`, `open` or `half-open`, and how long it stays open, in milliseconds. */
  report(now: number): { state: string; opensForMs: number } {
    return { state: this.state, opensForMs: this.state === "open" ? Math.max(0, this.until - now) : 0 };
  }

  private count(outcome: Outcome, now: number): boolean {
    if (outcome === "success") this.inARow = 0;
    if (outcome === "failure") {
      this.inARow += 1;
      this.failures.push(now);
      this.failures = this.failures.filter((time) => now - time < WINDOW.ms);
    }
    if (outcome === "breach") {
      this.breaches.push(now);
      this.breaches = this.breaches.filter((time) => now - time < SLOW_WINDOW.ms);
    }
    const failed = outcome === "failure" && (this.inARow >= IN_A_ROW || this.failures.length >= WINDOW.many);
    const opens = failed || (outcome === "breach" && this.breaches.length >= SLOW_WINDOW.many);
    if (opens) this.open(FIRST_COOLDOWN_MS, now);
    return opens;
  }

  /** The probe is back: only a hook's success closes. */
  private decide(outcome: Outcome, now: number): boolean {
    this.probeIsOut = false;
    if (outcome === "unjudged") return false;
    if (outcome === "success") {
      this.inARow = 0;
      this.failures = [];
      this.breaches = [];
      this.turn("closed");
      return true;
    }
    this.open(Math.min(this.cooldown * 2, LONGEST_COOLDOWN_MS), now);
    return true;
  }

  private open(cooldown: number, now: number): void {
    this.cooldown = cooldown;
    this.until = now + cooldown;
    this.turn("open");
  }

  /** Every turn begins a period: what was admitted before it does not count any more. */
  private turn(state: "closed" | "open" | "half-open"): void {
    this.state = state;
    this.epoch += 1;
    this.probeIsOut = false;
  }
}
