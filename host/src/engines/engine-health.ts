/**
 * Tracks whether an engine is reachable, and with which models. It checks every few seconds, at once after a job
 * failed, and more often while the engine is unreachable. A node thus gets no jobs while its engine restarts, and
 * serves again afterwards. If the server answers but a model does not work, failed jobs reveal it (model-liveness.ts).
 */
import type { Clock } from "../clock.ts";
import type { EngineAvailability } from "./engine.ts";
import type { EngineHttp } from "./engine-http.ts";
import { ModelLiveness } from "./model-liveness.ts";
import type { EngineProfile, EngineReport } from "./profiles/engine-profile.ts";

const CHECK_EVERY_MS = 5_000;
const CHECK_AGAIN_MS_MIN = 250;
/** A busy engine may answer slowly. After this many slow answers in a row, it counts as frozen. */
const SLOW_MAX = 3;
const SLOW_AGAIN_MS = 1_000;
/** For this long after an engine was full, it gets no more jobs than it was running then. */
const CROWDED_MS = 60_000;

interface EngineHealthOptions {
  http: EngineHttp;
  profile: EngineProfile;
  /** The engine's model names by catalogue ID. */
  names: ReadonlyMap<string, string>;
  /** The models and slots of the engine when it was found. */
  first: EngineAvailability;
  /**
   * The models that the engine listed when it was found. A model that it never listed counts as available whenever the
   * engine is.
   */
  listed: readonly string[];
  /** The number of slots that the host set. It overrides the engine's own number. */
  slots: number | undefined;
  /** Runs a minimal job and returns whether the model answers. */
  works: (model: string) => Promise<boolean>;
  clock: Clock;
}

export class EngineHealth {
  readonly #options: EngineHealthOptions;
  readonly #listeners = new Set<(now: EngineAvailability) => void>();
  readonly #listed: ReadonlySet<string>;
  readonly #doubts: ModelLiveness;
  #now: EngineAvailability;
  /** The engine's latest report. At first, the report from when it was found. */
  #facts: EngineReport | undefined;
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
    this.#doubts = new ModelLiveness({
      works: options.works,
      changed: () => this.#report(this.#facts),
      clock: options.clock,
    });
  }

  watch(changed: (now: EngineAvailability) => void): () => void {
    this.#listeners.add(changed);
    this.check();
    return () => {
      this.#listeners.delete(changed);
      if (this.#listeners.size > 0) return;
      this.#cancelTimer?.();
      this.#doubts.clear();
    };
  }

  /** Tests a model again, because one of its jobs failed. */
  doubt(model: string): void {
    if (this.#listeners.size > 0) this.#doubts.doubt(model);
  }

  /** Checks the engine now, because a job could not reach it. */
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
    // The server may have closed an idle connection, so only a second failure counts.
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

  #noticeCrowd(facts: EngineReport | undefined): void {
    const now = this.#options.clock.monotonic();
    // After an outage, another engine may run at this address, so the old limit no longer applies.
    if (facts === undefined || now >= (this.#crowded?.until ?? 0)) this.#crowded = undefined;
    if (facts?.crowdedAt === undefined) return;
    // Even in an engine that is not full, requests may wait briefly. The highest number of running requests seen at
    // such times is therefore the closest to its capacity.
    const slots = Math.max(1, facts.crowdedAt, this.#crowded?.slots ?? 0);
    this.#crowded = { slots, until: now + CROWDED_MS };
  }

  #report(facts: EngineReport | undefined): void {
    const now = facts === undefined ? { models: [], slots: 0 } : this.#availability(facts);
    if (now.slots === this.#now.slots && now.models.join() === this.#now.models.join()) return;
    this.#now = now;
    for (const changed of this.#listeners) changed(now);
  }

  #availability(facts: EngineReport): EngineAvailability {
    const { names, slots, first } = this.#options;
    const there = new Set(facts.models.map(({ name }) => name));
    const held = [...names].filter(([, name]) => there.has(name) || !this.#listed.has(name)).map(([id]) => id);
    const models = held.filter((id) => !this.#doubts.isDead(id));
    const told = facts.slots ?? first.slots;
    const room = Math.min(told, this.#crowded?.slots ?? told);
    return { models, slots: models.length === 0 ? 0 : (slots ?? room) };
  }
}
