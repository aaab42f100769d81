/**
 * Limits the hub's connections, in total and per network, and separately the unauthenticated ones. A new connection
 * that exceeds a limit of unauthenticated ones replaces the oldest of them. At the limit of its network, that is the
 * oldest of the same network, so that one network cannot evict others. At the total limit, it is the oldest of all.
 */
import { isIPv6 } from "node:net";
import type { HubLimits } from "./hub-limits.ts";

type Bounds = Pick<
  HubLimits,
  "connectionsMax" | "connectionsPerAddressMax" | "unauthenticatedMax" | "unauthenticatedPerAddressMax"
>;

export class ConnectionLimits<T> {
  readonly #limits: Bounds;
  /** The network of each connection. */
  readonly #all = new Map<T, string>();
  readonly #perNetwork = new Map<string, number>();
  /** The unauthenticated connections, oldest first. */
  readonly #unauthenticated = new Set<T>();
  readonly #unauthenticatedPerNetwork = new Map<string, Set<T>>();

  constructor(limits: Bounds) {
    this.#limits = limits;
  }

  hasRoom(address: string | undefined): boolean {
    if (this.#all.size >= this.#limits.connectionsMax) return false;
    return (this.#perNetwork.get(findNetwork(address)) ?? 0) < this.#limits.connectionsPerAddressMax;
  }

  /** Returns the unauthenticated connection to close before another one from this address is accepted, if any. */
  toEvict(address: string | undefined): T | undefined {
    const sameNetwork = this.#unauthenticatedPerNetwork.get(findNetwork(address)) ?? new Set();
    const full = sameNetwork.size >= this.#limits.unauthenticatedPerAddressMax;
    if (!full && this.#unauthenticated.size < this.#limits.unauthenticatedMax) return undefined;
    const [oldest] = full ? sameNetwork : this.#unauthenticated;
    return oldest;
  }

  add(connection: T, address: string | undefined): void {
    const network = findNetwork(address);
    this.#all.set(connection, network);
    this.#perNetwork.set(network, (this.#perNetwork.get(network) ?? 0) + 1);
    this.#unauthenticated.add(connection);
    this.#unauthenticatedPerNetwork.set(
      network,
      (this.#unauthenticatedPerNetwork.get(network) ?? new Set()).add(connection),
    );
  }

  /** Called when the connection has authenticated or ended. */
  noLongerWaits(connection: T): void {
    if (!this.#unauthenticated.delete(connection)) return;
    const network = this.#all.get(connection) ?? "";
    const sameNetwork = this.#unauthenticatedPerNetwork.get(network);
    sameNetwork?.delete(connection);
    if (sameNetwork?.size === 0) this.#unauthenticatedPerNetwork.delete(network);
  }

  remove(connection: T): void {
    const network = this.#all.get(connection);
    if (network === undefined) return;
    this.noLongerWaits(connection);
    this.#all.delete(connection);
    const left = (this.#perNetwork.get(network) ?? 0) - 1;
    if (left > 0) this.#perNetwork.set(network, left);
    else this.#perNetwork.delete(network);
  }

  all(): T[] {
    return [...this.#all.keys()];
  }
}

/**
 * The address itself, or for IPv6 its first 64 bits, because one customer usually has all addresses that share them.
 */
export function findNetwork(address = ""): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const after = tail === "" ? [] : tail.split(":");
    while (groups.length + after.length < 8) groups.push("0");
    groups.push(...after);
  }
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
