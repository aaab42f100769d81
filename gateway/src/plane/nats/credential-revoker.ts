/**
 * Writes revocations into the account's JWT and sends it to the servers, which then disconnect clients with a revoked
 * key. Several gateways may write at once without a lock, and the last writer wins. So each gateway announces its
 * revocations first, reads the JWT again afterwards, and repeats until the JWT contains all revocations that it made or
 * received. A gateway that overwrote another's revocation has received the announcement by then and restores it. The
 * plane's owner is stored in the same JWT and written alike.
 */
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { signJwt } from "../credentials/jwt.ts";
import type { SigningKey } from "../credentials/nkeys.ts";
import {
  type AccountClaims,
  addRevokedKeys,
  dropExpiredRevocations,
  includesRevocations,
  mergeRevokedKeys,
  type RevokedKeys,
  readDeploymentTag,
  readRevokedUntilS,
  withDeployment,
} from "./account-jwt.ts";
import type { AccountJwtAccess } from "./system-account.ts";

/**
 * The most that gateways' clocks differ. A credential of another gateway may be dated this far after its revocation.
 */
const SKEW_S = 5;
const WRITES_MAX = 20;
const CLAIMS_MAX = 5;
const PAUSE_MS = 10;
/**
 * The wait after writing the plane's owner. Other gateways that read the JWT before this write have written theirs by
 * then, so the owner that is read next is final.
 */
const CLAIMED_AFTER_MS = 500;
/** When the JWT is checked again, because servers of a cluster may be separated for a moment. */
const LOOK_AGAIN_MS = 5_000;

interface RevokerOptions {
  lookup: () => Promise<AccountClaims>;
  /** Runs `task` with access to the account's JWT on the servers. */
  withSystem: (task: (record: AccountJwtAccess) => Promise<void>) => Promise<void>;
  /** Resolves when the servers have forwarded the announcement to the other gateways, or after a limited wait. */
  announce: (revoked: RevokedKeys) => Promise<void>;
  /** The operator's key, which signs the JWT. */
  operator: SigningKey;
  clock: Clock;
  log: Log;
}

export class CredentialRevoker {
  readonly #options: RevokerOptions;
  /** Keys to revoke, each with the second in which this was requested. */
  readonly #wanted = new Map<string, number>();
  /** All revocations that this gateway made or received, kept for the longest lifetime of a credential. */
  #known: RevokedKeys = {};
  /**
   * The deployment that owns the plane, once known. If the account's JWT names no deployment, another gateway has
   * overwritten the JWT by mistake.
   */
  #deployment: string | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The next write. It includes all requests that arrive before it begins. */
  #next: Promise<void> | undefined;
  #cancelLook = (): void => {};
  #closed = false;

  constructor(options: RevokerOptions) {
    this.#options = options;
  }

  /** Rejects when the servers are unreachable. The revocation is then written later. */
  revoke(userKey: string): Promise<void> {
    this.#wanted.set(userKey, this.#nowS());
    return this.#write().finally(() => this.#lookLater());
  }

  /** Stores revocations that another gateway announced. */
  heard(revoked: RevokedKeys): void {
    this.#known = mergeRevokedKeys(dropExpiredRevocations(this.#known, this.#nowS()), revoked);
  }

  /** Claims the plane for the deployment if the plane has no owner. Returns the owner. */
  async claim(deployment: string): Promise<string> {
    for (let writes = 0; ; writes++) {
      const owner = readDeploymentTag(await this.#options.lookup());
      if (owner !== undefined) {
        this.#deployment = owner;
        return owner;
      }
      if (writes === CLAIMS_MAX)
        throw new Error(`could not store in NATS which deployment owns this dispatch plane (${writes} attempts)`);
      await this.#options.withSystem((record) =>
        this.#writeOwner(record, deployment, (before) => before === undefined),
      );
      await sleep(this.#options.clock, CLAIMED_AFTER_MS);
    }
  }

  /** Makes the deployment the plane's owner, replacing any other. */
  async take(deployment: string): Promise<void> {
    this.#deployment = deployment;
    for (let writes = 0; readDeploymentTag(await this.#options.lookup()) !== deployment; writes++) {
      if (writes === CLAIMS_MAX)
        throw new Error(`could not store in NATS which deployment owns this dispatch plane (${writes} attempts)`);
      await this.#options.withSystem((record) =>
        this.#writeOwner(record, deployment, (before) => before !== deployment),
      );
    }
  }

  /** Writes pending revocations, because the servers are reachable again. */
  retry(): void {
    if (this.#wanted.size > 0) this.#lookNow();
  }

  close(): void {
    this.#closed = true;
    this.#cancelLook();
  }

  /** Runs one write at a time. Requests that arrive during a write are part of the next one. */
  #write(): Promise<void> {
    this.#next ??= this.#writing
      .catch(() => {
        // The error was already returned to the callers of that write.
      })
      .then(() => {
        this.#writing = this.#next ?? Promise.resolve();
        this.#next = undefined;
        return this.#options.withSystem((record) => this.#writeWanted(record));
      });
    return this.#next;
  }

  async #writeWanted(record: AccountJwtAccess): Promise<void> {
    const asked = new Map(this.#wanted);
    const revoked = secondsToRevoke(await record.read(), asked);
    this.heard(revoked);
    await this.#options.announce(revoked);
    await this.#writeKnown(record);
    for (const [key, second] of asked) if (this.#wanted.get(key) === second) this.#wanted.delete(key);
  }

  async #writeKnown(record: AccountJwtAccess): Promise<void> {
    const { clock, operator } = this.#options;
    for (let writes = 0; ; writes++) {
      const account = await record.read();
      if (includesRevocations(account, this.#known)) return;
      if (writes === WRITES_MAX) throw new Error(`the NATS servers did not save a revocation in ${writes} attempts`);
      await record.write(signJwt(operator, addRevokedKeys(this.#owned(account), this.#known, this.#nowS())));
      if (writes > 0) await sleep(clock, PAUSE_MS * writes);
    }
  }

  async #writeOwner(
    record: AccountJwtAccess,
    deployment: string,
    isDue: (before: string | undefined) => boolean,
  ): Promise<void> {
    const account = await record.read();
    if (!isDue(readDeploymentTag(account))) return;
    const owned = addRevokedKeys(withDeployment(account, deployment), this.#known, this.#nowS());
    await record.write(signJwt(this.#options.operator, owned));
  }

  /**
   * Restores the plane's owner if the account has none, because another gateway's write removed it. Keeps a different
   * owner, because an operator set it.
   */
  #owned(account: AccountClaims): AccountClaims {
    if (this.#deployment === undefined || readDeploymentTag(account) !== undefined) return account;
    return withDeployment(account, this.#deployment);
  }

  #lookLater(): void {
    this.#cancelLook();
    if (!this.#closed) this.#cancelLook = this.#options.clock.after(LOOK_AGAIN_MS, () => this.#lookNow());
  }

  #lookNow(): void {
    this.#look().catch((error) => {
      this.#options.log.error({ err: error, nodes: this.#wanted.size }, "could not revoke node credentials; retrying");
      this.#lookLater();
    });
  }

  async #look(): Promise<void> {
    const { log, lookup, withSystem } = this.#options;
    if (this.#wanted.size > 0) await this.#write();
    if (includesRevocations(await lookup(), this.#known)) return;
    log.warn("revocations of node keys were overwritten in the NATS account's JWT; writing them again");
    await withSystem((record) => this.#writeKnown(record));
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.now() / 1000);
  }
}

/**
 * Returns for each key the second up to which its credentials are revoked. It is later than the requested second,
 * because clocks differ. It is also later than an earlier revocation, because credentials issued since then are dated
 * after that.
 */
function secondsToRevoke(account: AccountClaims, asked: Map<string, number>): RevokedKeys {
  const seconds = [...asked].map(([key, second]): [string, number] => {
    return [key, Math.max(second + SKEW_S, (readRevokedUntilS(account, key) ?? -1) + 1)];
  });
  return Object.fromEntries(seconds);
}
