/** The form fields of a key's settings, for the dialogs that create and edit a key. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiKey } from "../../api/answer-types.ts";
import { ApiFault } from "../../api/api-fault.ts";
import { priceListQuery } from "../../data/price-list.ts";
import { AmountField } from "../../ui/amount-field.tsx";
import { CheckField, findFieldError, TextField } from "../../ui/form-fields.tsx";
import { formatCount } from "../../ui/time-text.tsx";
import { type KeyForm, LIMIT_FIELDS } from "./key-form.ts";

const LIMIT_LABELS = {
  requests_per_minute: "Requests per minute",
  tokens_per_minute: "Tokens per minute",
  in_flight: "Concurrent requests",
} as const;

/** The names of fields that show their own errors. */
export const listFieldsWithInlineErrors = (error: unknown): string[] => [
  "name",
  "budget_day_micro",
  "budget_month_micro",
  "expires_at",
  ...LIMIT_FIELDS.map((name) => `limits.${name}`),
  // For a refused model, the API names the list entry: `models[2]`.
  ...(error instanceof ApiFault && isOfModels(error.param) ? [error.param ?? ""] : []),
];

const isOfModels = (param: string | undefined): boolean => param === "models" || param?.startsWith("models[") === true;

interface Props {
  begin: KeyForm;
  /** The field that cannot be parsed, by the API's name. */
  problem: { param: string; text: string } | undefined;
  error: unknown;
  /** The maximum values of the limits, if known. */
  ceiling?: ApiKey["limits_max"] | undefined;
}

export function KeySettingsFields({ begin, problem, error, ceiling }: Props) {
  const wrongWith = (param: string): string | undefined =>
    problem?.param === param ? problem.text : findFieldError(error, param);
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <AmountField
          label="Daily budget ($)"
          name="budget_day_micro"
          placeholder="No budget"
          defaultValue={begin.budget_day_micro}
          hint="Resets at 00:00 UTC."
          error={wrongWith("budget_day_micro")}
        />
        <AmountField
          label="Monthly budget ($)"
          name="budget_month_micro"
          placeholder="No budget"
          defaultValue={begin.budget_month_micro}
          hint="The monthly budget resets on the 1st (UTC)."
          error={wrongWith("budget_month_micro")}
        />
      </div>
      <TextField
        label="Expires"
        name="expires_at"
        type="datetime-local"
        defaultValue={begin.expires_at}
        hint="This time is in your time zone. Leave the field empty for a key that does not expire."
        error={wrongWith("expires_at")}
      />
      <ModelChoice begin={begin.models} problem={problem?.param === "models" ? problem.text : modelsError(error)} />
      <CheckField
        type="checkbox"
        name="spot_checks"
        defaultChecked={begin.spot_checks}
        label="Allow spot checks: a second host sees a sample of this key's prompts. If you turn them off, only nodes with at least 1,000 checked answers of the model serve this key."
      />
      <CheckField
        type="checkbox"
        name="labels"
        defaultChecked={begin.labels}
        label="Labels: store the label of each request (metadata.label, or else user) and show spend by label."
      />
      <CheckField
        type="checkbox"
        name="reasoning_content"
        defaultChecked={begin.reasoning_content}
        label="Reasoning content: also send a model's thinking in reasoning_content; in streams, while the model generates it."
      />
      <fieldset className="grid gap-4 sm:grid-cols-3">
        <legend className="mb-1.5 font-medium">Limits</legend>
        {LIMIT_FIELDS.map((name) => (
          <TextField
            key={name}
            label={LIMIT_LABELS[name]}
            name={name}
            inputMode="numeric"
            autoComplete="off"
            defaultValue={begin[name]}
            placeholder={ceiling === undefined ? "Default" : formatCount(ceiling[name])}
            hint={ceiling === undefined ? undefined : `At most ${formatCount(ceiling[name])}.`}
            error={wrongWith(`limits.${name}`)}
          />
        ))}
      </fieldset>
    </>
  );
}

const modelsError = (error: unknown): string | undefined =>
  error instanceof ApiFault && isOfModels(error.param) ? error.message : undefined;

/** Chooses all models, including future ones, or only the ticked ones. */
function ModelChoice({ begin, problem }: { begin: string[] | null; problem: string | undefined }) {
  const [some, setSome] = useState(begin !== null);
  const { data: rates } = useQuery(priceListQuery);
  // A model that the key allows stays in the list even after it was removed from the catalog.
  const ids = [...new Set([...(rates?.data.map(({ sku_id }) => sku_id) ?? []), ...(begin ?? [])])];
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1.5 font-medium">Models</legend>
      <div className="flex flex-wrap gap-x-6 gap-y-2">
        <CheckField
          type="radio"
          name="models_allowed"
          value="all"
          checked={!some}
          onChange={() => setSome(false)}
          label="All models"
        />
        <CheckField
          type="radio"
          name="models_allowed"
          value="some"
          checked={some}
          onChange={() => setSome(true)}
          label="Selected models"
        />
      </div>
      {some && (
        <div className="flex flex-wrap gap-x-5 gap-y-2 rounded-md border border-line p-3">
          {ids.map((id) => (
            <CheckField key={id} name="models" value={id} defaultChecked={begin?.includes(id) === true} label={id} />
          ))}
        </div>
      )}
      {problem !== undefined && <p className="text-xs text-bad">{problem}</p>}
    </fieldset>
  );
}
