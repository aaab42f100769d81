/** A button with a menu of the last twelve months. Choosing a month downloads its PDF file. */
import { useMutation } from "@tanstack/react-query";
import { listUtcMonths } from "../utc-dates.ts";
import { Button } from "./button.tsx";
import { ChevronDown } from "./icons.tsx";
import { Menu, MenuItem, MenuLabel } from "./menu.tsx";
import { toastError } from "./toast.tsx";

const MONTHS = 12;

export function MonthMenu({ save, children }: { save: (month: string) => Promise<unknown>; children: string }) {
  const { mutate, isPending } = useMutation({ mutationFn: save, onError: toastError });
  return (
    <Menu
      button={
        <Button busy={isPending}>
          {children}
          <ChevronDown aria-hidden className="size-4" />
        </Button>
      }
    >
      <MenuLabel>PDF, by UTC month</MenuLabel>
      {listUtcMonths(Date.now(), MONTHS).map((month, back) => (
        <MenuItem key={month} onSelect={() => mutate(month)}>
          <span className="tabular-nums">{month}</span>
          {back === 0 && <span className="text-ink-soft">so far</span>}
        </MenuItem>
      ))}
    </Menu>
  );
}
