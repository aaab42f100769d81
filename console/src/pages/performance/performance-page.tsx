/** Speed and failures of a builder's requests: in total, over time, by model and by key. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Performance } from "../../api/answer-types.ts";
import { keysQuery } from "../../data/keys.ts";
import { performanceQuery } from "../../data/performance.ts";
import { priceListQuery } from "../../data/price-list.ts";
import { PLAYGROUND_KEY_CHOICE } from "../../keys/key-names.ts";
import { decimalText, formatPercent } from "../../locale.ts";
import { PerformanceFigures } from "../../performance/performance-figures.tsx";
import { RANGE_TEXTS } from "../../time-range.ts";
import { Button } from "../../ui/button.tsx";
import { Card, PageHeader } from "../../ui/card.tsx";
import { Chart } from "../../ui/chart/chart.tsx";
import type { ChartRow, PreviousPeriod } from "../../ui/chart/chart-data.ts";
import { type Percentiles, percentileLines } from "../../ui/chart/percentiles.ts";
import { usePreviousPeriod } from "../../ui/chart/use-previous-period.ts";
import { SelectField } from "../../ui/form-fields.tsx";
import { Activity, X } from "../../ui/icons.tsx";
import { EmptyState, LoadedQuery, Skeleton } from "../../ui/loading-states.tsx";
import { PageSections } from "../../ui/page-sections.tsx";
import { RangeChoice, useRange } from "../../ui/range-choice.tsx";
import { lineRows, listPercentilePoints } from "./performance-charts.ts";
import type { PerformanceSearch } from "./performance-search.ts";
import { PerformanceTable } from "./performance-table.tsx";

const RANGES = ["1h", "6h", "24h", "7d", "30d"] as const;

export function PerformancePage() {
  const [range, setRange] = useRange(RANGES, "24h");
  const { by = "model", model, key } = useSearch({ from: "/app/performance" });
  const navigate = useNavigate({ from: "/performance" });
  const set = (change: (search: PerformanceSearch) => PerformanceSearch): void =>
    void navigate({ search: change, replace: true, resetScroll: false });
  const query = useQuery(performanceQuery({ range, by, model, key }));
  const end = query.data?.range === range ? query.data.from : undefined;
  const comparison = usePreviousPeriod(range, end !== undefined);
  const before = useQuery({ ...performanceQuery({ range, by, model, key, to: String(end) }), ...comparison.query });
  const filtered = model !== undefined || key !== undefined;
  const clear = (): void => set(({ model: _model, key: _key, ...search }) => search);
  return (
    <>
      <PageHeader
        title="Performance"
        about="Latency, speed and error rate of your requests. Rate-limited requests are not counted."
        actions={<RangeChoice range={range} choices={RANGES} onChange={setRange} />}
      />
      <PageSections>
        <Filters {...{ model, set }} keyId={key} onClear={filtered ? clear : undefined} />
        <PerformanceFigures query={query} words={RANGE_TEXTS[range]} />
        <LoadedQuery
          query={query}
          loading={<Skeleton className="h-80 w-full" />}
          action={filtered && <Button onClick={clear}>Clear filters</Button>}
        >
          {(answer) =>
            answer.total.requests === 0 ? (
              <Card>
                <EmptyState
                  icon={<Activity aria-hidden />}
                  title="No requests"
                  action={filtered && <Button onClick={clear}>Clear filters</Button>}
                >
                  {filtered ? "No requests match these filters" : "No requests finished"} in {RANGE_TEXTS[range]}.
                </EmptyState>
              </Card>
            ) : (
              <>
                <Course
                  answer={answer}
                  words={RANGE_TEXTS[range]}
                  beforeOf={(rowsOf) => comparison.of(before.data && rowsOf(before.data), before.error)}
                />
                <PerformanceTable
                  answer={answer}
                  onBy={(next) => set(({ by: _by, ...search }) => (next === "key" ? { ...search, by: next } : search))}
                  onOpen={(row) => set((search) => ({ ...search, ...row }))}
                />
              </>
            )
          }
        </LoadedQuery>
      </PageSections>
    </>
  );
}

interface FiltersProps {
  model: string | undefined;
  keyId: string | undefined;
  set: (change: (search: PerformanceSearch) => PerformanceSearch) => void;
  onClear: (() => void) | undefined;
}

function Filters({ model = "", keyId = "", set, onClear }: FiltersProps) {
  const { data: rates } = useQuery(priceListQuery);
  const { data: keys } = useQuery(keysQuery);
  const models = (rates?.data ?? []).map(({ sku_id }) => ({ value: sku_id, label: sku_id }));
  const named = [...(keys?.data ?? []).map(({ id, name }) => ({ value: id, label: name })), PLAYGROUND_KEY_CHOICE];
  return (
    <search className="flex flex-wrap gap-2">
      <SelectField
        label="Model"
        hideLabel
        className="min-w-40 flex-1 sm:max-w-60"
        value={model}
        options={choices("All models", models, model)}
        onChange={({ target }) =>
          set(({ model: _model, ...search }) => (target.value === "" ? search : { ...search, model: target.value }))
        }
      />
      <SelectField
        label="Key"
        hideLabel
        className="min-w-40 flex-1 sm:max-w-60"
        value={keyId}
        options={choices("All keys", named, keyId)}
        onChange={({ target }) =>
          set(({ key: _key, ...search }) => (target.value === "" ? search : { ...search, key: target.value }))
        }
      />
      {onClear !== undefined && (
        <Button look="quiet" onClick={onClear}>
          <X aria-hidden className="size-4" />
          Clear
        </Button>
      )}
    </search>
  );
}

interface Choice {
  value: string;
  label: string;
}

/** The filter's options. The chosen value is listed even while the others are loading. */
function choices(all: string, values: Choice[], chosen: string): Choice[] {
  const known = chosen === "" || values.some(({ value }) => value === chosen);
  return [{ value: "", label: all }, ...(known ? [] : [{ value: chosen, label: chosen }]), ...values];
}

interface CourseProps {
  answer: Performance;
  words: string;
  /** Converts the previous period's response to chart rows, to compare them with the current ones. */
  beforeOf: (rowsOf: (answer: Performance) => ChartRow[]) => PreviousPeriod;
}

function Course({ answer, words, beforeOf }: CourseProps) {
  const percentiles = (of: (point: Performance["series"][number]) => Percentiles) => ({
    ...percentileLines(listPercentilePoints(answer, of)),
    before: beforeOf((past) => percentileLines(listPercentilePoints(past, of)).rows),
  });
  const line = (name: string, colour: number, of: (point: Performance["series"][number]) => number | null) => ({
    series: [{ name, colour }],
    rows: lineRows(answer, name, of),
    before: beforeOf((past) => lineRows(past, name, of)),
  });
  return (
    <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
      <Card title="Time to first token">
        <Chart kind="lines" title={`Time to first token in ${words}`} {...percentiles(({ ttft_ms }) => ttft_ms)} />
      </Card>
      <Card title="Duration">
        <Chart kind="lines" title={`Duration in ${words}`} {...percentiles(({ duration_ms }) => duration_ms)} />
      </Card>
      <Card title="Speed">
        <Chart
          kind="lines"
          title={`Tokens per second in ${words}`}
          {...line("Tokens per second", 2, ({ tokens_per_second }) => tokens_per_second)}
          format={decimalText}
          unit="tokens/s"
        />
      </Card>
      <Card title="Errors">
        <Chart
          kind="lines"
          title={`Error rate in ${words}`}
          {...line("Error rate", 6, ({ error_share }) => error_share)}
          format={formatPercent}
          unit="share"
        />
      </Card>
    </div>
  );
}
