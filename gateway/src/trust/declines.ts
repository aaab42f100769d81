/** How many of its offers each node declined within the hour, by the rule in base/node-thresholds.ts. Pure. */
import { DECLINED, declinesTooMuch } from "../base/node-thresholds.ts";

interface Hour {
  since: number;
  offers: number;
  declined: number;
}

export class Declines {
  readonly #nodes = new Map<string, Hour>();

  /** The node took an offer, or declined it. What it declined, when that was too much. */
  note(nodeId: string, offer: "taken" | "declined", now: number): Omit<Hour, "since"> | undefined {
    const known = this.#nodes.get(nodeId);
    const isOver = known === undefined || now - known.since >= DECLINED.windowMs;
    const hour = isOver ? { since: now, offers: 0, declined: 0 } : known;
    this.#nodes.set(nodeId, hour);
    hour.offers += 1;
    if (offer === "taken") return undefined;
    hour.declined += 1;
    return declinesTooMuch(hour) ? { offers: hour.offers, declined: hour.declined } : undefined;
  }

  startAnew(nodeId: string): void {
    this.#nodes.delete(nodeId);
  }
}
