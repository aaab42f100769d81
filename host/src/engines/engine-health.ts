/**
 * Whether an engine is reachable, and with which models: checked every few seconds, at once after a job failed, and more often while it is
 * unreachable. So a node gets no jobs while its engine restarts, and then serves again. A server that answers while its model is dead is
 * detected by failing jobs (model-doubts.ts).
 */
import type { Clock } from "../clock.ts";
import type { Availability } from "./engine.ts";
import type { EngineHttp } from "./engine-http.ts";
import { ModelDoubts } from "./model-doubts.ts";
import type { EngineFacts, EngineProfile } from "./profiles/profile.ts";

const CHECK_EVERY_MS = 5_000;
const CHECK_AGAIN_MS_MIN = 250;
/** A busy engine may answer slowly; after this many slow answers in a row it counts as frozen. */
const SLOW_MAX = 3;
const SLOW_AGAIN_MS = 1_000;
/** After an engine was full, it gets no more jobs than it ran at that time, for this long. */
const CROWDED_MS = 60_000;

interface EngineHealthOptions {
  http: EngineHttp;
  profile: EngineProfile;
  /** Catalogue id → the engine's name for the model. */
  names: ReadonlyMap<string, string>;
  /** The engine's abilities when it was found. */
  first: Availability;
  /** The models it listed then. A model that it never listed counts as available whenever the engine is. */
  listed: readonly string[];
  /** The host's own setting of slots, which overrides the engine's. */
  slots: number | undefined;
  /** Whether the model serves a minimal job. */
  works: (model: string) => Promise<boolean>;
  clock: Clock;
}

export class EngineHealth {
  readonly #options: EngineHealthOptions;
  readonly #listeners = new Set<(now: Availability) => void>();
  readonly #listed: ReadonlySet<string>;
  readonly #doubts: ModelDoubts;
  #now: Availability;
  /** The engine's latest report; initially from when it was found. */
  #facts: EngineFacts | undefined;
  #crowded: { slots: number; until: number } | undefined;
  #checking = false;
  #again = false;
  #slow = 0;
  #missed = 0;
  #cancelTimer: (() => void) | undefined;

  constructor(options: EngineHealthOptions) {
    this.#options = options;
    this.#now = options.first;
    this.#listed = new Set(options.listed);
    const models = [...options.names.values()].map((name) => ({ name, contextTokens: undefined, loaded: undefined }));
    this.#facts = { models, slots: options.first.slots };
    this.#doubts = new ModelDoubts({
      works: options.works,
      changed: () => this.#report(this.#facts),
      clock: options.clock,
    });
  }

  watch(changed: (now: Availability) => void): () => void {
    this.#listeners.add(changed);
    this.check();
    return () => {
      this.#listeners.delete(changed);
      if (this.#listeners.size > 0) return;
      this.#cancelTimer?.();
      this.#doubts.clear();
    };
  }

  /** A job of this model failed, so the model is tested. */
  doubt(model: string): void {
    if (this.#listeners.size > 0) this.#doubts.doubt(model);
  }

  /** Checks now, because a job could not reach the engine. */
  check(): void {
    if (this.#listeners.size === 0) return;
    if (this.#checking) {
      this.#again = true;
      return;
    }
    this.#cancelTimer?.();
    this.#checking = true;
    void this.#examine().then((waitMs) => {
      this.#checking = false;
      if (this.#listeners.size === 0) return;
      this.#cancelTimer = this.#options.clock.after(this.#again ? 0 : waitMs, () => this.check());
      this.#again = false;
    });
  }

  /** Checks the engine and returns the wait until the next check. */
  async #examine(): Promise<number> {
    const { http, profile } = this.#options;
    // The server may have closed a kept-alive connection, so only a second failure counts.
    const first = await http.probe(profile.healthPath);
    const liveness = first === "away" ? await http.probe(profile.healthPath) : first;
    this.#slow = liveness === "slow" ? this.#slow + 1 : 0;
    if (liveness === "slow" && this.#slow < SLOW_MAX) return SLOW_AGAIN_MS;
    const facts = liveness === "answers" ? await profile.inspect(http) : undefined;
    const isBack = this.#facts === undefined && facts !== undefined;
    this.#facts = facts;
    this.#noticeCrowd(facts);
    this.#report(facts);
    if (isBack) this.#doubts.tryNow();
    this.#missed = facts === undefined ? this.#missed + 1 : 0;
    if (facts !== undefined) return CHECK_EVERY_MS;
    return Math.min(CHECK_EVERY_MS, CHECK_AGAIN_MS_MIN * 2 ** Math.min(this.#missed - 1, 10));
  }

  #noticeCrowd(facts: EngineFacts | undefined): void {
    const now = this.#options.clock.monotonic();
    // Another engine may have replaced it.
    if (facts === undefined || now >= (this.#crowded?.until ?? 0)) this.#crowded = undefined;
    if (facts?.crowdedAt === undefined) return;
    // Requests may also wait briefly in an engine that is not full, so the highest number seen running is closer to its capacity.
    const slots = Math.max(1, facts.crowdedAt, this.#crowded?.slots ?? 0);
    this.#crowded = { slots, until: now + CROWDED_MS };
  }

  #report(facts: EngineFacts | undefined): void {
    const now = facts === undefined ? { models: [], slots: 0 } : this.#availability(facts);
    if (now.slots === this.#now.slots && now.models.join() === this.#now.models.join()) return;
    this.#now = now;
    for (const changed of this.#listeners) changed(now);
  }

  #availability(facts: EngineFacts): Availability {
    const { names, slots, first } = this.#options;
    const there = new Set(facts.models.map(({ name }) => name));
    const held = [...names].filter(([, name]) => there.has(name) || !this.#listed.has(name)).map(([id]) => id);
    const models = held.filter((id) => !this.#doubts.isDead(id));
    const told = facts.slots ?? first.slots;
    const room = Math.min(told, this.#crowded?.slots ?? told);
    return { models, slots: models.length === 0 ? 0 : (slots ?? room) };
  }
}
