/** Compares the cost of one workload on all models. */
import { useState } from "react";
import type { LiveModel } from "../../api/answer-types.ts";
import { Card } from "../../ui/card.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { moneyColumn } from "../../ui/money-text.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { formatCount } from "../../ui/time-text.tsx";
import { parseWholeNumber, WHOLE_NUMBER_MAX } from "../../whole-number.ts";
import { type CostEstimate, DAYS_A_MONTH, estimateCost, type Workload } from "./cost-estimate.ts";

interface Row extends CostEstimate {
  model: LiveModel;
  /** The cost divided by that of the most expensive model, for the width of its bar. */
  share: number;
}

const FIELDS = [
  { name: "requestsPerDay", label: "Requests per day", start: "1,000" },
  {
    name: "promptTokens",
    label: "Prompt tokens per request",
    start: "500",
    hint: "About four characters of English per token.",
  },
  { name: "outputTokens", label: "Output tokens per request", start: "200", hint: "Reasoning counts as output." },
] as const;

type Texts = Record<(typeof FIELDS)[number]["name"], string>;

export function CostEstimator({ models }: { models: LiveModel[] }) {
  const [texts, setTexts] = useState<Texts>({ requestsPerDay: "1,000", promptTokens: "500", outputTokens: "200" });
  const work = workloadOf(texts);
  return (
    <Card id="estimate" title="Cost estimate" flush>
      <div className="grid gap-4 px-4 pb-5 sm:grid-cols-3 sm:px-5">
        {FIELDS.map(({ name, label, ...more }) => (
          <TextField
            key={name}
            label={label}
            inputMode="numeric"
            value={texts[name]}
            onChange={({ target }) => setTexts({ ...texts, [name]: target.value })}
            error={
              parseWholeNumber(texts[name]) === undefined
                ? `Enter a whole number up to ${formatCount(WHOLE_NUMBER_MAX)}.`
                : undefined
            }
            {...("hint" in more && { hint: more.hint })}
          />
        ))}
      </div>
      <div aria-live="polite">
        {work !== undefined && (
          <Table label="Costs by model" columns={COLUMNS} rows={rowsOf(models, work)} keyOf={({ model }) => model.id} />
        )}
      </div>
    </Card>
  );
}

function workloadOf(texts: Texts): Workload | undefined {
  const [requestsPerDay, promptTokens, outputTokens] = FIELDS.map(({ name }) => parseWholeNumber(texts[name]));
  if (requestsPerDay === undefined || promptTokens === undefined || outputTokens === undefined) return undefined;
  return { requestsPerDay, promptTokens, outputTokens };
}

function rowsOf(models: LiveModel[], work: Workload): Row[] {
  const priced = models.flatMap((model) => {
    const cost = estimateCost(model, work);
    return cost === undefined ? [] : [{ model, ...cost }];
  });
  const dearest = priced.reduce((max, { month }) => (month > max ? month : max), 0n);
  return priced.map((row) => ({ ...row, share: dearest === 0n ? 0 : Number((row.month * 1000n) / dearest) / 1000 }));
}

const COLUMNS: Column<Row>[] = [
  {
    title: "Model",
    cell: ({ model }) => (
      <>
        <code className="font-mono font-medium">{model.id}</code>
        {model.kind === "embedding" && <span className="block text-xs text-ink-soft">input only</span>}
      </>
    ),
  },
  moneyColumn({ title: "Per request", from: "sm", of: ({ request }) => request }),
  moneyColumn({ title: "Per day", of: ({ day }) => day }),
  moneyColumn({ title: `Per ${DAYS_A_MONTH} days`, className: "font-medium", of: ({ month }) => month }),
  {
    title: "Relative cost",
    hideTitle: true,
    from: "md",
    className: "w-1/3",
    cell: ({ share }) => (
      <div aria-hidden className="h-2 rounded-full bg-sunken">
        <div className="h-full rounded-full bg-accent" style={{ width: `${Math.max(share * 100, 1)}%` }} />
      </div>
    ),
  },
];
