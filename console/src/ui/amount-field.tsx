/** An input for a dollar amount with a decimal point or comma. It shows how it parsed the amount. */
import { type ComponentProps, useState } from "react";
import { formatExactDollars } from "../dollar-amounts.ts";
import { parseDollars } from "../parse-dollars.ts";
import { TextField } from "./form-fields.tsx";

type AmountFieldProps = Omit<ComponentProps<typeof TextField>, "inputMode" | "autoComplete" | "onChange">;

export function AmountField({ hint, defaultValue, ...field }: AmountFieldProps) {
  const [typed, setTyped] = useState<string>();
  const read = typed === undefined || typed.trim() === "" ? undefined : parseDollars(typed);
  // While the user types, an invalid amount shows the usual hint instead of an error.
  const told = read === undefined ? hint : "pico" in read ? `Read as ${formatExactDollars(read.pico)}` : hint;
  return (
    <TextField
      {...field}
      inputMode="decimal"
      autoComplete="off"
      defaultValue={defaultValue}
      hint={told}
      onChange={(event) => setTyped(event.currentTarget.value)}
    />
  );
}
