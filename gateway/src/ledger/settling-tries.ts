/** One try to settle a request, what it is counted as, and what is done with one that can never be settled. */
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { exactMicro, type Pico, pico, ZERO } from "../base/money.ts";
import type { SparingLog } from "../base/sparing-log.ts";
import { isDataFault, isRefusal, provesBug } from "../db/errors.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement, SettleOutcome } from "./settlement.ts";
import type { Spool } from "./spool.ts";

/** Sums since the start. */
export interface SettlingTallies {
  /** Entered while their holds lived, or found there by a repeat. */
  committed: number;
  /** Entered over the record of a lease that had run out. */
  late: number;
  givenUp: number;
  /** Tries that the database did not take. */
  retried: number;
  spooled: number;
  /** Answered although neither store nor disk had taken them. */
  unsafe: number;
  /** What late settlements could not collect. */
  short: Pico;
}

export interface TriesOptions {
  /** Once. `late` means that it has to be settled late. */
  settle: (settlement: Settlement) => Promise<SettleOutcome>;
  settleLate: (settlement: Settlement) => Promise<{ outcome: SettleOutcome; short: Pico }>;
  /** Records a request that the database has lost with its hold, so that it can be settled late. False: it cannot. */
  restore?: ((id: Uuid) => Promise<boolean>) | undefined;
  /** The same with the hold of another gateway's request, as a spool has it. */
  restoreHold?: ((hold: HoldOrder) => Promise<boolean>) | undefined;
  spool: Spool | undefined;
  log: Log;
  sparing: SparingLog;
}

const unknownHold = (): Error => new Error("the hold does not exist and has no record");

export class SettlingTries {
  readonly tallies: SettlingTallies = {
    committed: 0,
    late: 0,
    givenUp: 0,
    retried: 0,
    spooled: 0,
    unsafe: 0,
    short: ZERO,
  };
  readonly #options: TriesOptions;

  constructor(options: TriesOptions) {
    this.#options = options;
  }

  /** Of a request of this gateway. `unknown`: there is neither a hold nor a record of it. */
  async settle(settlement: Settlement): Promise<SettleOutcome> {
    let outcome = await this.#options.settle(settlement);
    if (outcome === "unknown" && (await this.#options.restore?.(settlement.id))) outcome = "late";
    if (outcome === "late") outcome = await this.#settleLate(settlement);
    this.#count(outcome);
    return outcome;
  }

  /** Of another gateway's. What can never be settled is written down; rejects when the database is in trouble. */
  async once(settlement: Settlement): Promise<SettleOutcome | "given_up"> {
    const settle = async (): Promise<SettleOutcome> => {
      let outcome = await this.#options.settle(settlement);
      const { hold } = settlement;
      if (outcome === "unknown" && hold !== undefined && (await this.#options.restoreHold?.(hold))) outcome = "late";
      return outcome === "late" ? await this.#settleLate(settlement) : outcome;
    };
    const result = await settle()
      .catch((error) => (isRefusal(error) ? settle() : Promise.reject(error)))
      .then(
        (outcome) => ({ outcome, error: outcome === "unknown" ? unknownHold() : undefined, isFinal: true }),
        (error: unknown) => ({ outcome: "unknown" as const, error, isFinal: isDataFault(error) }),
      );
    if (result.error === undefined) {
      this.#count(result.outcome);
      return result.outcome;
    }
    if (result.isFinal && (await this.giveUp(settlement, result.error))) return "given_up";
    throw result.error;
  }

  /** The database did not take it, and will be asked again. */
  refused({ id }: Settlement, error: unknown): void {
    this.tallies.retried += 1;
    const { log, sparing } = this.#options;
    const request = publicId("req", id);
    if (provesBug(error)) sparing.error(request, { request, err: error }, "settling failed unexpectedly; retrying");
    else log.debug({ request, err: error }, "retrying a settlement");
  }

  giveUpUnknown(settlement: Settlement): Promise<boolean> {
    return this.giveUp(settlement, unknownHold());
  }

  /** Whether it is written down; if not, it stays where it is. */
  async giveUp(settlement: Settlement, error: unknown): Promise<boolean> {
    const { log, spool } = this.#options;
    const request = publicId("req", settlement.id);
    this.tallies.givenUp += 1;
    log.error({ request, err: error }, "settlement given up; the hold expires with its lease");
    if (spool === undefined) return false;
    try {
      await spool.giveUp(settlement, error instanceof Error ? error.message : String(error));
      return true;
    } catch (failure) {
      log.error({ request, err: failure }, "could not write a settlement that was given up to given-up.jsonl");
      return false;
    }
  }

  async #settleLate(settlement: Settlement): Promise<SettleOutcome> {
    const late = await this.#options.settleLate(settlement);
    if (late.outcome === "late") this.#tellLate(settlement, late.short);
    return late.outcome;
  }

  #tellLate({ id, charge }: Settlement, short: Pico): void {
    const { log, sparing } = this.#options;
    const request = publicId("req", id);
    sparing.warn(request, { request }, "request settled after its lease expired");
    if (short <= 0n) return;
    this.tallies.short = pico(this.tallies.short + short);
    const micro = { chargeMicro: exactMicro(charge), shortMicro: exactMicro(short) };
    log.error({ request, ...micro }, "late settlement found too little credit; the rest is not charged");
  }

  #count(outcome: SettleOutcome): void {
    if (outcome === "late") this.tallies.late += 1;
    else if (outcome !== "unknown") this.tallies.committed += 1;
  }
}
