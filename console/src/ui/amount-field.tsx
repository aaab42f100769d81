/** An amount in dollars, typed with a decimal point or comma: what was understood is shown before it is sent. */
import { type ComponentProps, useState } from "react";
import { exactDollars } from "../money.ts";
import { readDollars } from "../typed-dollars.ts";
import { TextField } from "./field.tsx";

type AmountFieldProps = Omit<ComponentProps<typeof TextField>, "inputMode" | "autoComplete" | "onChange">;

export function AmountField({ hint, defaultValue, ...field }: AmountFieldProps) {
  const [typed, setTyped] = useState<string>();
  const read = typed === undefined || typed.trim() === "" ? undefined : readDollars(typed);
  // While an amount is being typed it may be none yet; two amounts it stays.
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
