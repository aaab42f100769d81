/**
 * Tests for each model whether its engine can score another node's answer (return its log-probabilities), and how. A
 * test job runs at the same times as the format checks.
 */
import type { ScoringKind } from "@tollgate/protocol/frames.ts";
import type { Clock } from "../clock.ts";
import type { Engine } from "../engines/engine.ts";
import type { Log } from "../log.ts";
import { FormatSupportChecks } from "./format-support-checks.ts";

export class ScoringSupportChecks {
  readonly #kinds = new Map<string, ScoringKind>();
  readonly #checks: FormatSupportChecks;

  constructor(options: { engine: Pick<Engine, "scoring">; clock: Clock; log: Log; changed: () => void }) {
    const { engine } = options;
    const passes = async (model: string): Promise<boolean> => {
      const kind = await engine.scoring?.(model);
      if (kind !== undefined) this.#kinds.set(model, kind);
      return kind !== undefined;
    };
    const tried = engine.scoring === undefined ? {} : { keepsFormat: passes };
    this.#checks = new FormatSupportChecks({ ...options, engine: tried, what: "scoring answers" });
  }

  serve(models: readonly string[]): void {
    this.#checks.serve(models);
  }

  kindOf(model: string): ScoringKind | undefined {
    return this.#checks.passed(model) ? this.#kinds.get(model) : undefined;
  }

  of(models: readonly string[]): Record<string, ScoringKind> {
    const found: Record<string, ScoringKind> = {};
    for (const model of models) {
      const kind = this.kindOf(model);
      if (kind !== undefined) found[model] = kind;
    }
    return found;
  }
}
