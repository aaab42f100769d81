/**
 * Parses the filters of the request history, and limits how many records a query may read without a rollup or an index.
 */

import { RequestOutcome } from "@tollgate/api/common-schemas.ts";
import type { RequestsQuery, requestRoutes } from "@tollgate/api/console/requests.ts";
import { REQUEST_OUTCOMES } from "@tollgate/api/enumerations.ts";
import type { z } from "zod";
import type { Uuid } from "../../base/ids.ts";
import { parseMicroAsPico } from "../../base/money.ts";
import { DAY_MS } from "../../base/time.ts";
import { type Fault, ruleViolation } from "../../faults.ts";
import {
  type MeasureBounds,
  needsRecordSearch,
  type RequestFilter,
  usesRollupColumns,
} from "../../history/request-filter.ts";
import type { HistoryServices } from "../../history/services.ts";
import type { HandlerInput } from "../../http/serve-routes.ts";
import type { InferenceServices } from "../../inference/services.ts";
import type { KeyServices } from "../../keys/services.ts";
import type { SiteServices } from "../services.ts";
import { findApiKeysOfFilter } from "./find-api-keys-of-filter.ts";

type Query = Omit<z.output<typeof RequestsQuery>, "cursor" | "limit" | "sort">;
type Refuse = HandlerInput<typeof requestRoutes.exportRequests>["refuse"];

const SORTED_DAYS_MAX = 31;
/** The most records that a query may read to sort or sum without an index or a rollup. */
export const RECORDS_READ_MAX = 200_000;

export const makeTooManyRecordsFault = (what: string): Fault =>
  ruleViolation("from", `must be later, or "to" earlier, because at most ${RECORDS_READ_MAX} requests can be ${what}`);

export function parseRequestFilter({
  history,
  catalogue,
  sessionKeys,
  now,
}: Pick<HistoryServices, "history"> &
  Pick<InferenceServices, "catalogue"> &
  Pick<SiteServices, "now"> &
  Pick<KeyServices, "sessionKeys">) {
  const modelsOf = (names: string[] | undefined, refuse: Refuse): string[] | undefined => {
    const known = names === undefined ? [] : catalogue().entries.map(({ id }) => id);
    if (names?.some((name) => !known.includes(name)) === true) throw refuse("unknown_model");
    return names;
  };
  const keysOf = async (accountId: Uuid, keys: string[] | undefined): Promise<Uuid[] | undefined> => {
    const found = await Promise.all((keys ?? []).map((key) => findApiKeysOfFilter(sessionKeys, accountId, key)));
    return keys && found.flatMap((ids) => ids ?? []);
  };
  /** The number of requests in a time span, or only of those with the filter's label. */
  const inSpan = async (accountId: Uuid, { label, from, to }: RequestFilter): Promise<number> =>
    label === undefined
      ? (await history.total(accountId, { from, to }, now())).requests
      : await history.labelled(accountId, label, { from, to });
  return {
    async filterOf(accountId: Uuid, query: Query, refuse: Refuse): Promise<RequestFilter> {
      const { label, not_label: notLabel, from, to } = query;
      return {
        models: modelsOf(query.model, refuse),
        notModels: modelsOf(query.not_model, refuse),
        keyIds: await keysOf(accountId, query.key),
        notKeyIds: await keysOf(accountId, query.not_key),
        outcomes: outcomesOf(query, refuse),
        label,
        notLabel,
        measures: measuresOf(query),
        from,
        to,
      };
    },
    /**
     * How a list can be sorted. `whole`: the page is sorted from all matching records. `searched`: the page searches
     * only a limited part of the index by cost, because the index lacks a column of the filter. Other orders read all
     * records of the span, so their number is limited.
     */
    async sortable(accountId: Uuid, sort: string, filter: RequestFilter): Promise<"whole" | "searched"> {
      const { from, to = new Date(now()), label } = filter;
      const isIndexed = sort === "cost" && history.sortsByCost();
      if (isIndexed && label === undefined && !needsRecordSearch(filter, ["cost"])) return "whole";
      const isShort = from !== undefined && to.getTime() - from.getTime() <= SORTED_DAYS_MAX * DAY_MS;
      if (isShort && (await inSpan(accountId, { label, from, to: filter.to })) <= RECORDS_READ_MAX) return "whole";
      if (isIndexed) return "searched";
      if (isShort) throw makeTooManyRecordsFault(`sorted by ${sort}`);
      throw ruleViolation("from", `must be at most ${SORTED_DAYS_MAX} days before "to" when "sort" is "${sort}"`);
    },
    /** Throws if the sums of a filter would read too many records. */
    async countable(accountId: Uuid, filter: RequestFilter): Promise<void> {
      const isRead = needsRecordSearch(filter) || (filter.label !== undefined && usesRollupColumns(filter));
      if (isRead && (await inSpan(accountId, filter)) > RECORDS_READ_MAX)
        throw makeTooManyRecordsFault("counted with these filters");
    },
  };
}

/**
 * The outcomes of a filter. Because the set of outcomes is fixed, excluded outcomes are converted to the remaining
 * ones.
 */
function outcomesOf({ outcome, not_outcome: not }: Query, refuse: Refuse): RequestFilter["outcomes"] {
  if ([...(outcome ?? []), ...(not ?? [])].some((name) => !RequestOutcome.safeParse(name).success)) {
    throw refuse("unknown_outcome");
  }
  if (outcome === undefined && not === undefined) return undefined;
  return REQUEST_OUTCOMES.filter(
    (name) => outcome?.includes(name) !== false && (not === undefined || !not.includes(name)),
  );
}

function measuresOf(query: Query): NonNullable<RequestFilter["measures"]> {
  const micro = (text: string | undefined): bigint | undefined =>
    text === undefined ? undefined : parseMicroAsPico(text);
  const whole = (number: number | undefined): bigint | undefined => (number === undefined ? undefined : BigInt(number));
  const { charge_micro_min, charge_micro_max, tokens_min, tokens_max } = query;
  const { ttft_ms_min, ttft_ms_max, duration_ms_min, duration_ms_max } = query;
  return {
    cost: boundsOf("charge_micro", micro(charge_micro_min), micro(charge_micro_max)),
    tokens: boundsOf("tokens", whole(tokens_min), whole(tokens_max)),
    ttft: boundsOf("ttft_ms", whole(ttft_ms_min), whole(ttft_ms_max)),
    duration: boundsOf("duration_ms", whole(duration_ms_min), whole(duration_ms_max)),
  };
}

function boundsOf(name: string, min: bigint | undefined, max: bigint | undefined): MeasureBounds | undefined {
  if (min === undefined && max === undefined) return undefined;
  if (min !== undefined && max !== undefined && max < min) {
    throw ruleViolation(`${name}_max`, `must not be below "${name}_min"`);
  }
  return { min, max };
}
