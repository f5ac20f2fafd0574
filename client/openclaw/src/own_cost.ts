// What the plugin itself costs before an assembly: reading the transcript on, digesting the view.

const KEPT = 256;

/** The last costs, per message where there are enough to tell. */
export class OwnCost {
  private readonly times: { ms: number; messages: number }[] = [];
  private messages = 0;
  private same = 0;

  /** `same`: how many of the messages were the very objects of the call before. */
  record(ms: number, messages: number, same: number): void {
    this.times.push({ ms, messages });
    if (this.times.length > KEPT) this.times.shift();
    this.messages += messages;
    this.same += same;
  }

  /** Milliseconds: the middle one and the worst of the last calls. */
  report(): { calls: number; medianMs: number; worstMs: number; messages: number; sameObjects: number } {
    const sorted = this.times.map(({ ms }) => ms).sort((a, b) => a - b);
    const round = (ms: number | undefined): number => Math.round((ms ?? 0) * 1000) / 1000;
    return { calls: sorted.length, medianMs: round(sorted[sorted.length >> 1]), worstMs: round(sorted.at(-1)), messages: this.messages, sameObjects: this.same };
  }
}
