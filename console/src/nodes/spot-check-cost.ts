/** The cost of spot checks as a share of charges. Pure. */

import { parseMicro } from "../dollar-amounts.ts";
import { formatWithDecimals } from "../locale.ts";

export function formatSpotCheckCostShare({
  cost_micro,
  charged_micro,
}: {
  cost_micro: string;
  charged_micro: string;
}): string {
  const [cost, charged] = [parseMicro(cost_micro), parseMicro(charged_micro)];
  if (charged === 0n) return "–";
  return `${formatWithDecimals(Number((cost * 10_000n) / charged) / 100, 2)} %`;
}
