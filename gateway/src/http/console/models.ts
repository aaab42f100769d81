/** The models as the console shows them: prices, the speed of the nodes that serve them now, and how much room there is. */
import type { MedianSpeed } from "../../dispatch/speeds.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import type { ConsoleRoute, Guards } from "./guards.ts";

export interface ModelRoutesOptions {
  catalogue: () => Catalogue;
  /** Over the connected nodes that serve the model, both of these. */
  speedOf: (model: string) => MedianSpeed;
  capacityOf: (model: string) => { nodes: number; slots: number; busy: number };
}

export function modelRoutes(route: ConsoleRoute, guards: Guards, options: ModelRoutesOptions): void {
  const { catalogue, speedOf, capacityOf } = options;
  route("GET", "/console/api/models", guards.signedIn, async ({ json }) => {
    const data = catalogue().entries.map((entry) => {
      const { ttftMs, tokensPerSecond } = speedOf(entry.id);
      return {
        id: entry.id,
        object: "model",
        kind: entry.kind,
        class: entry.class,
        quant_label: entry.quant_label,
        context_limit: entry.context_limit,
        price_in_micro_1m: entry.price_in_micro_1m,
        price_out_micro_1m: entry.price_out_micro_1m,
        status: entry.status,
        reasoning: entry.build?.reasoning !== undefined,
        ttft_p50_ms: ttftMs === null ? null : Math.round(ttftMs),
        tps_p50: tokensPerSecond === null ? null : Math.round(tokensPerSecond * 10) / 10,
        ...capacityOf(entry.id),
      };
    });
    json({ object: "list", data, next_cursor: null });
  });
}
