/** A single try to settle a request, counters of tries, and the handling of settlements that can never be entered. */
import type { Clock } from "../base/clock.ts";
import { publicId, type Uuid } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { formatExactMicrodollars, type Pico, pico, ZERO } from "../base/money.ts";
import type { RateLimitedLog } from "../base/rate-limited-log.ts";
import { isDataFault, isProgrammingError, isStatementRefused } from "../db/errors.ts";
import type { HoldOrder } from "./hold.ts";
import type { Settlement, SettleOutcome } from "./settlement-sql.ts";
import type { Spool } from "./spool.ts";

/** Counts of settlements and of the tries to enter them, since the gateway's start. */
export interface SettlingTallies {
  /** Settlements that were entered before the lease ended. Repetitions of an entered settlement count too. */
  committed: number;
  /** Settlements that were entered after the lease had expired. */
  late: number;
  givenUp: number;
  /** Tries that the database did not accept. */
  retried: number;
  spooled: number;
  /** Requests that were answered although neither database nor disk had accepted their settlement. */
  unsafe: number;
  /** The sum that late settlements could not collect. */
  short: Pico;
}

/** How long a settlement is retried if the database refuses its values but accepts others. */
const GIVE_UP_AFTER_MS = 15 * 60_000;

export interface SettlingTriesOptions {
  clock: Clock;
  /** Tries once to settle. The result `late` means that `settleLate` must follow. */
  settle: (settlement: Settlement) => Promise<SettleOutcome>;
  settleLate: (settlement: Settlement) => Promise<{ outcome: SettleOutcome; short: Pico }>;
  /** Records a request again that the database lost together with its hold. Returns false if that is not possible. */
  restore?: ((id: Uuid) => Promise<boolean>) | undefined;
  /**
   * Records another gateway's request again that the database lost, with the hold from that gateway's spool. Returns
   * false if that is not possible.
   */
  restoreHold?: ((hold: HoldOrder) => Promise<boolean>) | undefined;
  /**
   * Called for each settlement, of any gateway, that is in the database, before the spool may drop it. Also called if
   * the settlement was there before: this process may have committed it without receiving the response.
   */
  onEntered?: ((settlement: Settlement) => void) | undefined;
  /** Returns the hold of one of this gateway's requests. */
  holdOf?: (id: Uuid) => HoldOrder | undefined;
  /** Default: `GIVE_UP_AFTER_MS`. 0: a settlement whose values are refused is given up at once. */
  giveUpAfterMs?: number | undefined;
  spool: Spool | undefined;
  /** Records for operators a settlement that the ledger can never accept. The spool has the settlement itself. */
  recordGivenUp?: (settlement: Settlement, reason: string) => Promise<void>;
  log: Log;
  sparing: RateLimitedLog;
}

const unknownHold = (): Error => new Error("the database has neither the request's hold nor its record");

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
  readonly #options: SettlingTriesOptions;
  /** When the database first refused the values of each settlement. Monotonic, in ms. */
  readonly #refusedSince = new Map<Uuid, number>();
  /** When the database last accepted any settlement. Monotonic, in ms. */
  #enteredAt = Number.NEGATIVE_INFINITY;

  constructor(options: SettlingTriesOptions) {
    this.#options = options;
  }

  /** Settles a request of this gateway. `unknown`: the database has neither its hold nor its record. */
  async settle(settlement: Settlement): Promise<SettleOutcome> {
    let outcome = await this.#options.settle(settlement);
    if (outcome === "unknown" && (await this.#options.restore?.(settlement.id))) outcome = "late";
    if (outcome === "late") outcome = await this.#settleLate(settlement);
    this.#noteEntered(settlement, outcome);
    return outcome;
  }

  /**
   * Settles a request of another gateway. If the ledger can never accept the settlement, it is recorded as given up.
   * Rejects when the database fails, or refuses values that it may accept later.
   */
  async once(settlement: Settlement): Promise<SettleOutcome | "given_up"> {
    const settle = async (): Promise<SettleOutcome> => {
      let outcome = await this.#options.settle(settlement);
      const { hold } = settlement;
      if (outcome === "unknown" && hold !== undefined && (await this.#options.restoreHold?.(hold))) outcome = "late";
      return outcome === "late" ? await this.#settleLate(settlement) : outcome;
    };
    const result = await settle()
      .catch((error) => (isStatementRefused(error) ? settle() : Promise.reject(error)))
      .then(
        (outcome) => ({ outcome, error: outcome === "unknown" ? unknownHold() : undefined, isFinal: true }),
        (error: unknown) => ({ outcome: "unknown" as const, error, isFinal: this.isHopeless(settlement, error) }),
      );
    if (result.error === undefined) {
      this.#noteEntered(settlement, result.outcome);
      return result.outcome;
    }
    if (result.isFinal && (await this.giveUp(settlement, result.error))) return "given_up";
    throw result.error;
  }

  /**
   * Whether to give the settlement up, because the database has refused its values for long and accepted others
   * meanwhile. A database that accepts no settlement may be incomplete, as during a restore, and then none is given up.
   */
  isHopeless({ id }: Settlement, error: unknown): boolean {
    const { clock, giveUpAfterMs = GIVE_UP_AFTER_MS } = this.#options;
    if (!isDataFault(error)) {
      this.#refusedSince.delete(id);
      return false;
    }
    if (giveUpAfterMs === 0) return true;
    const since = this.#refusedSince.get(id) ?? clock.monotonic();
    this.#refusedSince.set(id, since);
    return clock.monotonic() - since >= giveUpAfterMs && this.#enteredAt >= since;
  }

  /** Counts and logs a try that the database did not accept and that will be repeated. */
  refused({ id }: Settlement, error: unknown): void {
    this.tallies.retried += 1;
    const { log, sparing } = this.#options;
    const request = publicId("req", id);
    if (isProgrammingError(error))
      sparing.error(request, { request, err: error }, "settling a request failed unexpectedly; retrying");
    else log.debug({ request, err: error }, "retrying a settlement");
  }

  giveUpUnknown(settlement: Settlement): Promise<boolean> {
    return this.giveUp(settlement, unknownHold());
  }

  /** Records a settlement that can never be entered. Returns false if that fails, so that it stays in the spool. */
  async giveUp(settlement: Settlement, error: unknown): Promise<boolean> {
    const { log, spool, holdOf, recordGivenUp } = this.#options;
    const { id } = settlement;
    const request = publicId("req", id);
    const hold = settlement.hold ?? holdOf?.(id);
    const reason = error instanceof Error ? error.message : String(error);
    this.tallies.givenUp += 1;
    log.error(
      { request, err: error },
      "gave up a settlement that the ledger cannot accept; the request's hold expires with its lease",
    );
    await recordGivenUp?.(settlement, reason).catch((failure) => {
      log.error({ request, err: failure }, "could not record a given-up settlement in the database");
    });
    if (spool === undefined) return false;
    try {
      await spool.giveUp({ ...settlement, ...(hold && { hold }) }, reason);
      this.#refusedSince.delete(id);
      return true;
    } catch (failure) {
      log.error({ request, err: failure }, "could not record a given-up settlement in given-up.jsonl");
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
    const micro = { chargeMicro: formatExactMicrodollars(charge), shortMicro: formatExactMicrodollars(short) };
    log.error({ request, ...micro }, "the credit did not cover a late settlement; the rest is not charged");
  }

  #noteEntered(settlement: Settlement, outcome: SettleOutcome): void {
    if (outcome === "unknown") return;
    this.#refusedSince.delete(settlement.id);
    this.#enteredAt = this.#options.clock.monotonic();
    if (outcome === "late") this.tallies.late += 1;
    else this.tallies.committed += 1;
    this.#options.onEntered?.(settlement);
  }
}
