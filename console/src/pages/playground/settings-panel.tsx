/** The chosen models and their parameters. On narrow screens the panel is collapsed above the conversation. */
import { useState } from "react";
import type { PriceSheetEntry } from "../../api/answer-types.ts";
import { SelectField, TextArea, TextField } from "../../ui/form-fields.tsx";
import { MoneyText } from "../../ui/money-text.tsx";
import { CountText } from "../../ui/time-text.tsx";
import { FormatFields } from "./format-fields.tsx";
import type { NumberSettingName, PlaygroundSettings, RequestParameters } from "./playground-settings.ts";
import { PresetsBar } from "./presets-bar.tsx";

interface Props {
  person: string;
  settings: PlaygroundSettings;
  models: PriceSheetEntry[];
  problems: RequestParameters["problems"];
  unable: string[] | undefined;
  onChange: (settings: PlaygroundSettings) => void;
}

const NUMBERS: { name: NumberSettingName; label: string; hint: string }[] = [
  {
    name: "maxTokens",
    label: "Max output tokens",
    hint: "If empty, output is limited only by the model's context window.",
  },
  { name: "temperature", label: "Temperature", hint: "0 to 2." },
  { name: "topP", label: "Top P", hint: "0 to 1." },
  { name: "presencePenalty", label: "Presence penalty", hint: "−2 to 2." },
  { name: "frequencyPenalty", label: "Frequency penalty", hint: "−2 to 2." },
  { name: "seed", label: "Seed", hint: "A whole number." },
];

type TextName = Exclude<keyof PlaygroundSettings, "format">;

export function SettingsPanel({ person, settings, models, problems, unable, onChange }: Props) {
  const [open, setOpen] = useState(() => matchMedia("(min-width: 64rem)").matches);
  const [first, second] = [settings.model, settings.other].map((id) => models.find(({ sku_id }) => sku_id === id));
  const set = (name: TextName) => ({
    value: settings[name],
    onChange: ({ target }: { target: { value: string } }) => onChange({ ...settings, [name]: target.value }),
  });
  const options = models.map(({ sku_id }) => ({ value: sku_id, label: sku_id }));
  return (
    <section
      aria-label="Settings"
      className="order-first flex min-w-0 flex-col gap-4 rounded-lg border border-line bg-surface p-4 lg:order-none"
    >
      <SelectField label="Model" options={options} hint={first && <PricesOf model={first} />} {...set("model")} />
      {models.length > 1 && (
        <SelectField
          label="Compare with"
          options={[{ value: "", label: "No other model" }, ...options.filter(({ value }) => value !== settings.model)]}
          hint={second && <PricesOf model={second} />}
          {...set("other")}
        />
      )}
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="font-medium">Parameters</summary>
        <div className="mt-4 flex flex-col gap-4">
          <PresetsBar person={person} settings={settings} onChoose={onChange} />
          <TextArea label="System message" rows={3} placeholder="You are…" {...set("system")} />
          <FormatFields
            {...{ settings, problems, unable }}
            onChange={(change) => onChange({ ...settings, ...change })}
          />
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
            hint="One stop string per line, up to four."
            error={problems.stop}
            {...set("stop")}
          />
        </div>
      </details>
    </section>
  );
}

const PricesOf = ({ model }: { model: PriceSheetEntry }) => (
  <>
    <MoneyText of={String(model.price_in_micro_1m ?? 0)} /> in, <MoneyText of={String(model.price_out_micro_1m ?? 0)} />{" "}
    out per million tokens; context <CountText of={model.context_limit ?? 0} />
    {model.reasoning.separate && "; reasoning billed as output"}
  </>
);
