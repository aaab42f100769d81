/**
 * How many requests of each account are in service and how many wait, by model. Gateways exchange these counts, so that
 * an account's equal share holds over all gateways. `apply` receives every change, of this gateway and of others.
 */
export type AccountLoad = [inService: number, waiting: number];

/** By model, then by account: the number of requests in service, and of those that wait. */
export type AccountLoadsByModel = Record<string, Record<string, AccountLoad>>;

const NONE: AccountLoad = [0, 0];
/** The most accounts in one message, which keeps it well below the plane's size limit. */
export const REPORTED_LOADS_MAX = 2_000;

type Apply = (model: string, account: string, change: { inService: number; waiting: number }) => void;

export class AccountLoads {
  readonly #apply: Apply;
  readonly #own: LoadTable = new Map();
  readonly #elsewhere = new Map<string, LoadTable>();
  readonly #changed = new Set<(model: string, account: string) => void>();

  constructor(apply: Apply) {
    this.#apply = apply;
  }

  /** Counts a change of this gateway's requests. */
  count(model: string, account: string, change: { inService: number; waiting: number }): void {
    const [inService, waiting] = find(this.#own, model, account);
    set(this.#own, { model, account }, [inService + change.inService, waiting + change.waiting]);
    this.#apply(model, account, change);
    for (const run of this.#changed) run(model, account);
  }

  onChange(run: (model: string, account: string) => void): void {
    this.#changed.add(run);
  }

  /** How many of the account's requests this gateway serves, and how many wait here. */
  ownOf(model: string, account: string): AccountLoad {
    return find(this.#own, model, account);
  }

  /** The counts of this gateway's accounts, at most `REPORTED_LOADS_MAX` of them. */
  own(): AccountLoadsByModel {
    const loads: AccountLoadsByModel = {};
    let left = REPORTED_LOADS_MAX;
    for (const [model, accounts] of this.#own) {
      loads[model] = Object.fromEntries([...accounts].slice(0, left));
      left -= Math.min(left, accounts.size);
    }
    return loads;
  }

  /** Handles another gateway's report. `whole`: accounts that the report does not list have no requests there. */
  told(from: string, loads: AccountLoadsByModel, { whole }: { whole: boolean }): void {
    const table = this.#elsewhere.get(from) ?? new Map();
    if (whole)
      for (const [model, accounts] of table)
        for (const account of [...accounts.keys()])
          if (loads[model]?.[account] === undefined) this.#update(table, { model, account }, NONE);
    for (const [model, accounts] of Object.entries(loads))
      for (const [account, load] of Object.entries(accounts)) this.#update(table, { model, account }, load);
    if (table.size > 0) this.#elsewhere.set(from, table);
    else this.#elsewhere.delete(from);
  }

  #update(table: LoadTable, { model, account }: { model: string; account: string }, load: AccountLoad): void {
    const before = find(table, model, account);
    const change = { inService: load[0] - before[0], waiting: load[1] - before[1] };
    if (change.inService === 0 && change.waiting === 0) return;
    set(table, { model, account }, load);
    this.#apply(model, account, change);
  }
}

/** The methods through which gateways exchange their counts. */
export type SharedAccountLoads = Pick<AccountLoads, "own" | "ownOf" | "told" | "onChange">;

type LoadTable = Map<string, Map<string, AccountLoad>>;

const find = (table: LoadTable, model: string, account: string): AccountLoad => table.get(model)?.get(account) ?? NONE;

function set(table: LoadTable, { model, account }: { model: string; account: string }, load: AccountLoad): void {
  const accounts = table.get(model) ?? new Map<string, AccountLoad>();
  if (load[0] > 0 || load[1] > 0) table.set(model, accounts.set(account, load));
  else if (accounts.delete(account) && accounts.size === 0) table.delete(model);
}
