/**
 * Revocations, written into the account's JWT and pushed to the servers, which then drop whoever uses a revoked key. Other
 * gateways may write at the same moment, nothing locks that text, and the last writer wins. So gateways tell each other
 * what they are about to write, each reads again what stands there after it wrote, and writes until everything it knows of
 * is in it: who wrote over another's revocation has heard of it by then, and puts it back.
 *
 * Whose the plane is stands in the same text, and is written the same way, here, so that neither is written over.
 */
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { signJwt } from "../credentials/jwt.ts";
import type { SigningKey } from "../credentials/nkeys.ts";
import {
  type AccountClaims,
  deploymentOf,
  holds,
  livingOnly,
  mergeRevoked,
  type RevokedKeys,
  revokedUntilS,
  withDeployment,
  withRevoked,
} from "./account-jwt.ts";
import type { AccountRecord } from "./system.ts";

/** Gateways' clocks differ: a credential may be dated this far ahead of the one that revokes it. */
const SKEW_S = 5;
const WRITES_MAX = 20;
const CLAIMS_MAX = 5;
const PAUSE_MS = 10;
/** Who read the text before we claimed the plane has written its own by then. */
const CLAIMED_AFTER_MS = 500;
/** Servers of a cluster may be apart for a moment: look once more after this long. */
const LOOK_AGAIN_MS = 5_000;

interface RevokerOptions {
  lookup: () => Promise<AccountClaims>;
  /** Runs `task` with the right to write a new version of the account's JWT. */
  withSystem: (task: (record: AccountRecord) => Promise<void>) => Promise<void>;
  /** Resolves when the servers have passed it on to the other gateways, or are too busy to say so. */
  announce: (revoked: RevokedKeys) => Promise<void>;
  /** Signs for the operator. */
  operator: SigningKey;
  clock: Clock;
  log: Log;
}

export class Revoker {
  readonly #options: RevokerOptions;
  /** Keys to revoke, each with the second it was asked for, until they are. */
  readonly #wanted = new Map<string, number>();
  /** All that this gateway revoked or heard others revoke, for as long as a credential could live. */
  #known: RevokedKeys = {};
  /** The deployment that the plane belongs to, once that is known: a version without it is another's slip. */
  #deployment: string | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The write that takes everything asked for until it begins. */
  #next: Promise<void> | undefined;
  #cancelLook = (): void => {};
  #closed = false;

  constructor(options: RevokerOptions) {
    this.#options = options;
  }

  /** Rejects when the servers could not be told; they are told as soon as they can be. */
  revoke(userKey: string): Promise<void> {
    this.#wanted.set(userKey, this.#nowS());
    return this.#write().finally(() => this.#lookLater());
  }

  /** Another gateway is about to write these. */
  heard(revoked: RevokedKeys): void {
    this.#known = mergeRevoked(livingOnly(this.#known, this.#nowS()), revoked);
  }

  /** Makes the plane that deployment's unless it is another's. Returns whose it is then. */
  async claim(deployment: string): Promise<string> {
    for (let writes = 0; ; writes++) {
      const owner = deploymentOf(await this.#options.lookup());
      if (owner !== undefined) {
        this.#deployment = owner;
        return owner;
      }
      if (writes === CLAIMS_MAX)
        throw new Error(`the NATS servers did not save the plane's owner after ${writes} attempts`);
      await this.#options.withSystem((record) =>
        this.#writeOwner(record, deployment, (before) => before === undefined),
      );
      await sleep(this.#options.clock, CLAIMED_AFTER_MS);
    }
  }

  /** Makes the plane that deployment's, whoever's it was. */
  async take(deployment: string): Promise<void> {
    this.#deployment = deployment;
    for (let writes = 0; deploymentOf(await this.#options.lookup()) !== deployment; writes++) {
      if (writes === CLAIMS_MAX)
        throw new Error(`the NATS servers did not save the plane's owner after ${writes} attempts`);
      await this.#options.withSystem((record) =>
        this.#writeOwner(record, deployment, (before) => before !== deployment),
      );
    }
  }

  /** The servers are back: what could not be written is written now. */
  retry(): void {
    if (this.#wanted.size > 0) this.#lookNow();
  }

  close(): void {
    this.#closed = true;
    this.#cancelLook();
  }

  /** One write at a time; all that is asked for while one is in flight goes into the next. */
  #write(): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => {
        // Whoever asked for it was told.
      })
      .then(() => {
        this.#writing = this.#next ?? Promise.resolve();
        this.#next = undefined;
        return this.#options.withSystem((record) => this.#writeWanted(record));
      });
    return this.#next;
  }

  async #writeWanted(record: AccountRecord): Promise<void> {
    const asked = new Map(this.#wanted);
    const revoked = secondsToRevoke(await record.read(), asked);
    this.heard(revoked);
    await this.#options.announce(revoked);
    await this.#writeKnown(record);
    for (const [key, second] of asked) if (this.#wanted.get(key) === second) this.#wanted.delete(key);
  }

  async #writeKnown(record: AccountRecord): Promise<void> {
    const { clock, operator } = this.#options;
    for (let writes = 0; ; writes++) {
      const account = await record.read();
      if (holds(account, this.#known)) return;
      if (writes === WRITES_MAX) throw new Error(`the NATS servers did not save a revocation after ${writes} writes`);
      await record.write(signJwt(operator, withRevoked(this.#owned(account), this.#known, this.#nowS())));
      if (writes > 0) await sleep(clock, PAUSE_MS * writes);
    }
  }

  async #writeOwner(
    record: AccountRecord,
    deployment: string,
    isDue: (before: string | undefined) => boolean,
  ): Promise<void> {
    const account = await record.read();
    if (!isDue(deploymentOf(account))) return;
    const owned = withRevoked(withDeployment(account, deployment), this.#known, this.#nowS());
    await record.write(signJwt(this.#options.operator, owned));
  }

  /** Puts back whose the plane is, should someone have written over it. Another's stays: that was an operator. */
  #owned(account: AccountClaims): AccountClaims {
    if (this.#deployment === undefined || deploymentOf(account) !== undefined) return account;
    return withDeployment(account, this.#deployment);
  }

  #lookLater(): void {
    this.#cancelLook();
    if (!this.#closed) this.#cancelLook = this.#options.clock.after(LOOK_AGAIN_MS, () => this.#lookNow());
  }

  #lookNow(): void {
    this.#look().catch((error) => {
      this.#options.log.error({ err: error, nodes: this.#wanted.size }, "could not write revocations; retrying");
      this.#lookLater();
    });
  }

  async #look(): Promise<void> {
    const { log, lookup, withSystem } = this.#options;
    if (this.#wanted.size > 0) await this.#write();
    if (holds(await lookup(), this.#known)) return;
    log.warn("revocation was overwritten; writing it again");
    await withSystem((record) => this.#writeKnown(record));
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.now() / 1000);
  }
}

/** Far enough for clocks that differ, and for what was dated ahead because of an earlier revocation. */
function secondsToRevoke(account: AccountClaims, asked: Map<string, number>): RevokedKeys {
  const seconds = [...asked].map(([key, second]): [string, number] => {
    return [key, Math.max(second + SKEW_S, (revokedUntilS(account, key) ?? -1) + 1)];
  });
  return Object.fromEntries(seconds);
}
