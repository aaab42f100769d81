/** What narrows the history down, its list as its sums. */
import type { Uuid } from "../base/ids.ts";
import type { RequestOutcome } from "../base/states.ts";

export interface Filter {
  model?: string | undefined;
  /** Requests with any of these. */
  keyIds?: Uuid[] | undefined;
  outcome?: RequestOutcome | undefined;
  label?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}
