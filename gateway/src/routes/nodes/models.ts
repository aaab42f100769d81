/** The models that hosts may elect, with their exact builds. */

import { singlePage } from "../../http/lists/list-pages.ts";
import type { Catalogue } from "../../metering/catalogue.ts";

export function listModelsForHosts({ entries, active }: Catalogue) {
  const data = entries.flatMap((entry) => {
    const build = active.get(entry.id)?.build;
    if (build === undefined) return [];
    const { id: model, kind, class: of, context_limit, price_in_micro_1m, price_out_micro_1m } = entry;
    const prices = { price_in_micro_1m, price_out_micro_1m };
    return [{ model, kind, class: of, context_limit, build: build.id, tokenizer: build.tokenizer, ...prices }];
  });
  return singlePage(data);
}
