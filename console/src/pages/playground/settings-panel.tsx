/** The model and its parameters. On a phone they are folded away below the conversation. */
import { useState } from "react";
import type { Rate } from "../../api/types.ts";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { Money } from "../../ui/money.tsx";
import { Count } from "../../ui/time.tsx";
import type { Parameters, SettingName, Settings } from "./settings.ts";

interface Props {
  settings: Settings;
  models: Rate[];
  problems: Parameters["problems"];
  onChange: (settings: Settings) => void;
}

const NUMBERS: { name: Exclude<SettingName, "stop">; label: string; hint: string }[] = [
  { name: "maxTokens", label: "Max output tokens", hint: "Empty: the model's full context." },
  { name: "temperature", label: "Temperature", hint: "0 to 2." },
  { name: "topP", label: "Top P", hint: "0 to 1." },
  { name: "presencePenalty", label: "Presence penalty", hint: "−2 to 2." },
  { name: "frequencyPenalty", label: "Frequency penalty", hint: "−2 to 2." },
  { name: "seed", label: "Seed", hint: "A whole number." },
];

export function SettingsPanel({ settings, models, problems, onChange }: Props) {
  const [open, setOpen] = useState(() => matchMedia("(min-width: 64rem)").matches);
  const model = models.find(({ sku_id }) => sku_id === settings.model);
  const set = (name: keyof Settings) => ({
    value: settings[name],
    onChange: ({ target }: { target: { value: string } }) => onChange({ ...settings, [name]: target.value }),
  });
  return (
    <section
      aria-label="Settings"
      className="order-first flex min-w-0 flex-col gap-4 rounded-lg border border-line bg-surface p-4 lg:order-none"
    >
      <SelectField
        label="Model"
        options={models.map(({ sku_id }) => ({ value: sku_id, label: sku_id }))}
        hint={model && <PricesOf model={model} />}
        {...set("model")}
      />
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="font-medium">Parameters</summary>
        <div className="mt-4 flex flex-col gap-4">
          <TextArea label="System message" rows={3} placeholder="You are…" {...set("system")} />
          <div className="grid grid-cols-2 items-start gap-x-3 gap-y-4">
            {NUMBERS.map(({ name, label, hint }) => (
              <TextField
                key={name}
                label={label}
                hint={hint}
                inputMode="decimal"
                autoComplete="off"
                className={name === "maxTokens" ? "col-span-2" : undefined}
                error={problems[name]}
                {...set(name)}
              />
            ))}
          </div>
          <TextArea
            label="Stop sequences"
            rows={2}
            hint="One per line, up to four."
            error={problems.stop}
            {...set("stop")}
          />
        </div>
      </details>
    </section>
  );
}

const PricesOf = ({ model }: { model: Rate }) => (
  <>
    <Money of={String(model.price_in_micro_1m ?? 0)} /> in, <Money of={String(model.price_out_micro_1m ?? 0)} /> out per
    million tokens; context <Count of={model.context_limit ?? 0} />
    {model.reasoning.separate && "; reasoning billed as output"}
  </>
);
