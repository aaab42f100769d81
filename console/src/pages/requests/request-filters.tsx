/** The filters above the history. Each change goes into the address at once. */
import { useQuery } from "@tanstack/react-query";
import { SlidersHorizontal, X } from "lucide-react";
import { useState } from "react";
import type { RequestFilter } from "../../api/types.ts";
import { keysQuery } from "../../data/keys.ts";
import { ratesQuery } from "../../data/models.ts";
import { OUTCOME_NAMES } from "../../requests/outcome.tsx";
import { Button } from "../../ui/button.tsx";
import { classes } from "../../ui/classes.ts";
import { SelectField, TextField } from "../../ui/field.tsx";
import { localDay } from "./search.ts";

interface Props {
  filter: RequestFilter;
  onChange: (filter: RequestFilter) => void;
}

export function RequestFilters({ filter, onChange }: Props) {
  const { data: rates } = useQuery(ratesQuery);
  const { data: keys } = useQuery(keysQuery);
  const [unfolded, setUnfolded] = useState(false);
  const count = Object.keys(filter).length;
  const set = (name: keyof RequestFilter, value: string): void => {
    const { [name]: _before, ...rest } = filter;
    onChange(value === "" ? rest : { ...rest, [name]: value });
  };
  const choice = (
    name: "model" | "key" | "outcome",
    label: string,
    all: string,
    values: { value: string; label: string }[],
  ) => {
    const chosen = filter[name] ?? "";
    // What the address names is shown even while the list of choices is still on its way.
    const known = chosen === "" || values.some(({ value }) => value === chosen);
    return (
      <SelectField
        label={label}
        hideLabel
        value={chosen}
        options={[{ value: "", label: all }, ...(known ? [] : [{ value: chosen, label: chosen }]), ...values]}
        onChange={({ target }) => set(name, target.value)}
      />
    );
  };
  return (
    <search className="border-b border-line px-4 py-3 sm:px-5">
      <Button
        look="plain"
        className="w-full md:hidden"
        aria-expanded={unfolded}
        aria-controls="request-filters"
        onClick={() => setUnfolded(!unfolded)}
      >
        <SlidersHorizontal aria-hidden className="size-4" />
        Filters{count > 0 && ` (${count})`}
      </Button>
      <div
        id="request-filters"
        className={classes(
          "gap-2 max-md:mt-3 md:grid md:grid-cols-3 xl:grid-cols-[repeat(5,minmax(0,1fr))_auto]",
          unfolded ? "grid" : "hidden",
        )}
      >
        {choice(
          "model",
          "Model",
          "All models",
          (rates?.data ?? []).map(({ sku_id: value }) => ({ value, label: value })),
        )}
        {choice(
          "key",
          "Key",
          "All keys",
          (keys?.data ?? []).map(({ id, name }) => ({ value: id, label: name })),
        )}
        {choice(
          "outcome",
          "Outcome",
          "All outcomes",
          OUTCOME_NAMES.map((value) => ({ value, label: value })),
        )}
        <DayField label="From" value={filter.from} max={filter.to} onChange={(day) => set("from", day)} />
        <DayField label="To" value={filter.to} min={filter.from} onChange={(day) => set("to", day)} />
        <Button look="quiet" disabled={count === 0} onClick={() => onChange({})}>
          <X aria-hidden className="size-4" />
          Clear
        </Button>
      </div>
    </search>
  );
}

interface DayProps {
  label: string;
  value: string | undefined;
  min?: string | undefined;
  max?: string | undefined;
  onChange: (day: string) => void;
}

function DayField({ label, value = "", min, max, onChange }: DayProps) {
  return (
    <TextField
      label={label}
      hideLabel
      title={label}
      type="date"
      value={localDay(value) === undefined ? "" : value}
      {...(min !== undefined && { min })}
      {...(max !== undefined && { max })}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
