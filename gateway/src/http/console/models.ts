/** The models as the console shows them: prices, the speed of the nodes that serve them now, and how much room there is. */
import type { MedianSpeed } from "../../dispatch/speeds.ts";
import type { Catalogue } from "../../metering/catalogue.ts";
import { factsOf } from "../openai/catalogue.ts";
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
    const data = catalogue().entries.map((entry) => ({
      id: entry.id,
      object: "model",
      kind: entry.kind,
      reasoning: entry.build?.reasoning !== undefined,
      ...factsOf(entry, speedOf(entry.id)),
      ...capacityOf(entry.id),
    }));
    json({ object: "list", data, next_cursor: null });
  });
}
