/** Converts the view in the URL to API queries, and loads suggestions for the filter. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { RequestFilter } from "../../api/answer-types.ts";
import { usageQuery } from "../../data/balance-and-usage.ts";
import { keysQuery } from "../../data/keys.ts";
import { priceListQuery } from "../../data/price-list.ts";
import { findKeyName, PLAYGROUND_KEY_CHOICE } from "../../keys/key-names.ts";
import {
  type FilterTerm,
  formatTerm,
  type InvalidWord,
  type ParsedFilter,
  parseFilter,
} from "../../requests/filter-text.ts";
import { useUtcDayStart } from "../../ui/time-text.tsx";
import { daysBefore } from "../../utc-dates.ts";
import type { KnownFilterValues } from "./filter-completions.ts";
import { makeQueryParameters, needsKeyNames } from "./filter-terms.ts";
import { computeTimeSpan, type RequestsView } from "./requests-search.ts";

/** The filter suggests the labels of requests of the last days, this many. */
const LABEL_DAYS = 90;

interface Asked {
  read: ParsedFilter;
  wrong: InvalidWord[];
  /** Whether the API can be called: the filter is valid, and any keys that it names are loaded. */
  isReady: boolean;
  filter: RequestFilter;
  known: KnownFilterValues;
  nameOf: (term: FilterTerm) => string;
}

export function useRequestQueries(view: RequestsView, now: Date): Asked {
  const { data: rates } = useQuery(priceListQuery);
  const { data: listed } = useQuery(keysQuery);
  const keys = listed?.data;
  const labels = useLabels();
  const { q = "", from, to, range } = view;
  const asked = useMemo(() => {
    const read = parseFilter(q);
    const { filter, wrong } = makeQueryParameters(read.terms, keys);
    const isReady = read.wrong.length + wrong.length === 0 && (keys !== undefined || !needsKeyNames(read.terms));
    return { read, wrong: [...read.wrong, ...wrong], filter, isReady };
  }, [q, keys]);
  const filter = useMemo(
    () => ({
      ...asked.filter,
      ...computeTimeSpan({ ...(from && { from }), ...(to && { to }), ...(range && { range }) }, now.getTime()),
    }),
    [asked.filter, from, to, range, now],
  );
  return {
    ...asked,
    filter,
    known: {
      models: (rates?.data ?? []).map(({ sku_id }) => sku_id),
      keys: [...(keys ?? []).map(({ name }) => name), PLAYGROUND_KEY_CHOICE.value],
      labels,
    },
    nameOf: (term) =>
      formatTerm(
        term.field === "key" && term.value.startsWith("key_")
          ? { ...term, value: findKeyName(keys, term.value) }
          : term,
      ),
  };
}

/** Returns the account's recent request labels, which the input suggests. Those with the highest spend come first. */
function useLabels(): string[] {
  const today = useUtcDayStart();
  const from = daysBefore(today, LABEL_DAYS).toISOString();
  const { data } = useQuery(usageQuery({ by: "label", from }));
  return useMemo(() => (data?.data ?? []).flatMap(({ label }) => (typeof label === "string" ? [label] : [])), [data]);
}
