/**
 * Who may take up one of the hub's sockets: so many in all, so many from one address, so many that have not shown a
 * credential. Strangers who wait longest make room for newcomers, those of the newcomer's own address first: a crowd from
 * one place cannot push out the rest of the world. Knows nothing of what is said on a connection.
 */
import { isIPv6 } from "node:net";
import type { HubLimits } from "./limits.ts";

type CrowdLimits = Pick<
  HubLimits,
  "connectionsMax" | "connectionsPerAddressMax" | "unauthenticatedMax" | "unauthenticatedPerAddressMax"
>;

export class Crowd<T> {
  readonly #limits: CrowdLimits;
  /** Everybody, with the place they come from. */
  readonly #all = new Map<T, string>();
  readonly #countAt = new Map<string, number>();
  /** Oldest first. */
  readonly #strangers = new Set<T>();
  readonly #strangersAt = new Map<string, Set<T>>();

  constructor(limits: CrowdLimits) {
    this.#limits = limits;
  }

  hasRoom(address: string | undefined): boolean {
    if (this.#all.size >= this.#limits.connectionsMax) return false;
    return (this.#countAt.get(placeOf(address)) ?? 0) < this.#limits.connectionsPerAddressMax;
  }

  /** The stranger who has to leave before another one comes from this address, if one has to. */
  whoMakesRoom(address: string | undefined): T | undefined {
    const neighbours = this.#strangersAt.get(placeOf(address)) ?? new Set();
    const full = neighbours.size >= this.#limits.unauthenticatedPerAddressMax;
    if (!full && this.#strangers.size < this.#limits.unauthenticatedMax) return undefined;
    const [oldest] = full ? neighbours : this.#strangers;
    return oldest;
  }

  enter(one: T, address: string | undefined): void {
    const place = placeOf(address);
    this.#all.set(one, place);
    this.#countAt.set(place, (this.#countAt.get(place) ?? 0) + 1);
    this.#strangers.add(one);
    this.#strangersAt.set(place, (this.#strangersAt.get(place) ?? new Set()).add(one));
  }

  /** It has shown a credential, or takes no part any more. */
  noStranger(one: T): void {
    if (!this.#strangers.delete(one)) return;
    const place = this.#all.get(one) ?? "";
    const neighbours = this.#strangersAt.get(place);
    neighbours?.delete(one);
    if (neighbours?.size === 0) this.#strangersAt.delete(place);
  }

  leave(one: T): void {
    const place = this.#all.get(one);
    if (place === undefined) return;
    this.noStranger(one);
    this.#all.delete(one);
    const left = (this.#countAt.get(place) ?? 0) - 1;
    if (left > 0) this.#countAt.set(place, left);
    else this.#countAt.delete(place);
  }

  everybody(): T[] {
    return [...this.#all.keys()];
  }
}

/** Whoever has an IPv6 address has all that share its first half. */
export function placeOf(address = ""): string {
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
