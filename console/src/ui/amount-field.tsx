/** An input for dollars with a decimal point or comma, which shows the amount that it understood. */
import { type ComponentProps, useState } from "react";
import { exactDollars } from "../money.ts";
import { readDollars } from "../typed-dollars.ts";
import { TextField } from "./field.tsx";

type AmountFieldProps = Omit<ComponentProps<typeof TextField>, "inputMode" | "autoComplete" | "onChange">;

export function AmountField({ hint, defaultValue, ...field }: AmountFieldProps) {
  const [typed, setTyped] = useState<string>();
  const read = typed === undefined || typed.trim() === "" ? undefined : readDollars(typed);
  // An incomplete amount shows no error while the user types; an ambiguous one does.
  const told = read === undefined ? hint : "pico" in read ? `Read as ${exactDollars(read.pico)}` : hint;
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
