/**
 * Simulates money transfers between several ledger servers, and throws an error if money is lost or duplicated.
 *
 * A request is settled only on its builder's server: the host's share goes to the host's account there, and a sweep
 * moves it to the host's own server before a payout. A sweep is two transfers under one ID: from the host's account to
 * `transit` on the first server, and from `transit` to the host's account on the second. The process that does it may
 * die between the two or repeat them; the ID makes a repeat harmless.
 *
 * At every step each server must balance and `transit` must equal the amount in flight. At the end every host must have
 * exactly its earnings on its own server.
 */
import { SeededRandom } from "@tollgate/stage/seeded-random.ts";

const HOSTS = 200;
const BUILDERS = 2_000;
const REQUESTS_BETWEEN = 1_000;
/** In one of this many sweeps the process dies before the money arrives, and in as many it dies afterwards. */
const DEATHS_ONE_IN = 20;

interface SweepResult {
  sweeps: number;
  deaths: number;
  repeats: number;
  /** The maximum amount on its way between two servers at a time, as a share of all earnings. */
  transitMost: number;
}

export function simulateEarningsTransfers(servers: number, requests: number, seed: number): SweepResult {
  const books = new Ledger(servers, new SeededRandom(`sweeps ${seed}`));
  for (let n = 1; n <= requests; n++) {
    books.settle();
    if (n % REQUESTS_BETWEEN === 0) books.sweepOne();
  }
  books.sweepAll();
  return books.told;
}

class Server {
  readonly #balances = new Map<string, bigint>();
  /** The IDs of sweeps that arrived on this server: a repeat with a known ID does nothing. */
  readonly brought = new Set<string>();
  /**
   * Sweeps (transfers of a host's earnings to its own server) that this server has begun and whose arrival is not
   * confirmed.
   */
  readonly outbox = new Map<string, { host: number; amount: bigint }>();

  of(account: string): bigint {
    return this.#balances.get(account) ?? 0n;
  }

  transfer(lines: [account: string, amount: bigint][]): void {
    for (const [account, amount] of lines) this.#balances.set(account, this.of(account) + amount);
  }

  balances(): boolean {
    return sum(this.#balances.values()) === 0n;
  }
}

class Ledger {
  readonly told: SweepResult = { sweeps: 0, deaths: 0, repeats: 0, transitMost: 0 };
  readonly #servers: Server[];
  readonly #chance: SeededRandom;
  readonly #earned: bigint[] = Array.from({ length: HOSTS }, () => 0n);

  constructor(servers: number, chance: SeededRandom) {
    this.#servers = Array.from({ length: servers }, () => new Server());
    this.#chance = chance;
  }

  settle(): void {
    const [builder, host] = [this.#chance.below(BUILDERS), this.#chance.below(HOSTS)];
    const charge = BigInt(this.#chance.between(1, 10_000_000));
    const share = (charge * 70n) / 100n;
    this.#homeOf(builder).transfer([
      [`builder ${builder}`, -charge],
      [nameOf(host), share],
      ["platform", charge - share],
    ]);
    this.#earned[host] = (this.#earned[host] as bigint) + share;
  }

  sweepOne(): void {
    this.#begin(this.#chance.pick(this.#servers));
    this.#look();
    for (const server of this.#servers) this.#carry(server);
    this.#look();
  }

  sweepAll(): void {
    for (const server of this.#servers) this.#begin(server);
    while (this.#servers.some(({ outbox }) => outbox.size > 0)) for (const server of this.#servers) this.#carry(server);
    this.#look();
    this.#earned.forEach((amount, host) => {
      for (const server of this.#servers) {
        const due = server === this.#homeOf(host) ? amount : 0n;
        if (server.of(nameOf(host)) !== due) throw new Error(`${nameOf(host)} has not at home what it earned`);
      }
    });
  }

  #begin(from: Server): void {
    for (let host = 0; host < HOSTS; host++) {
      const amount = from.of(nameOf(host));
      if (this.#homeOf(host) === from || amount === 0n) continue;
      from.transfer([
        [nameOf(host), -amount],
        ["transit", amount],
      ]);
      from.outbox.set(`sweep ${++this.told.sweeps}`, { host, amount });
    }
  }

  /**
   * Completes the sweeps in the outbox. A sweep during which the process dies stays there, so the next call repeats it.
   */
  #carry(from: Server): void {
    for (const [id, { host, amount }] of [...from.outbox]) {
      if (this.#dies()) continue;
      const to = this.#homeOf(host);
      if (to.brought.has(id)) this.told.repeats += 1;
      else {
        to.transfer([
          ["transit", -amount],
          [nameOf(host), amount],
        ]);
        to.brought.add(id);
      }
      if (!this.#dies()) from.outbox.delete(id);
    }
  }

  #dies(): boolean {
    const dies = this.#chance.oneIn(DEATHS_ONE_IN);
    if (dies) this.told.deaths += 1;
    return dies;
  }

  #look(): void {
    if (!this.#servers.every((server) => server.balances())) throw new Error("a server's books do not balance");
    const transit = sum(this.#servers.map((server) => server.of("transit")));
    const inFlight = this.#servers
      .flatMap(({ outbox }) => [...outbox])
      .filter(([id, { host }]) => !this.#homeOf(host).brought.has(id));
    if (transit !== sum(inFlight.map(([, { amount }]) => amount)))
      throw new Error("the transit balance is not the sum of the amounts in flight");
    this.told.transitMost = Math.max(this.told.transitMost, Number(transit) / Number(sum(this.#earned)));
  }

  #homeOf(account: number): Server {
    return this.#servers[account % this.#servers.length] as Server;
  }
}

const nameOf = (host: number): string => `host ${host}`;
const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((all, one) => all + one, 0n);
