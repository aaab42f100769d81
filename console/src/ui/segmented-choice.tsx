/** A choice between a few options, shown as adjacent buttons. */
import { ToggleGroup } from "radix-ui";

interface Props<Value extends string> {
  label: string;
  value: Value;
  options: { value: Value; label: string; title?: string }[];
  onChange: (value: Value) => void;
}

export function SegmentedChoice<Value extends string>({ label, value, options, onChange }: Props<Value>) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={label}
      value={value}
      // Radix reports an empty value if the user clicks the selected option again. The option stays selected.
      onValueChange={(next) => next !== "" && onChange(next as Value)}
      className="inline-flex rounded-md bg-sunken p-0.5"
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          title={option.title}
          className="rounded-[5px] px-2.5 py-1 text-xs font-medium text-ink-soft transition-colors hover:text-ink data-[state=on]:bg-raised data-[state=on]:text-ink data-[state=on]:shadow-sm"
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}
