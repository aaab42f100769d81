/** A menu behind a button. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { joinClasses } from "./join-classes.ts";

interface MenuProps {
  /** The button that opens the menu: a single element that accepts a ref. */
  button: ReactNode;
  align?: "start" | "end";
  children: ReactNode;
}

export function Menu({ button, align = "end", children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{button}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          className="z-50 max-h-[min(70vh,var(--radix-dropdown-menu-content-available-height))] min-w-48 animate-fade-in overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-lg"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

const ITEM =
  "flex w-full cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-2 text-left outline-none select-none data-[highlighted]:bg-sunken [&_svg]:size-4 [&_svg]:shrink-0";

interface ItemProps {
  onSelect: () => void;
  danger?: boolean;
  children: ReactNode;
}

export function MenuItem({ onSelect, danger = false, children }: ItemProps) {
  return (
    <DropdownMenu.Item onSelect={onSelect} className={joinClasses(ITEM, danger && "text-bad")}>
      {children}
    </DropdownMenu.Item>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  value: Value;
  options: { value: Value; label: ReactNode }[];
  onChange: (value: Value) => void;
}

/** A group of options in a menu, with a mark at the selected one. */
export function MenuChoice<Value extends string>({ label, value, options, onChange }: ChoiceProps<Value>) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={(next) => onChange(next as Value)} aria-label={label}>
      {options.map((option) => (
        <DropdownMenu.RadioItem key={option.value} value={option.value} className={ITEM}>
          <span className="flex min-w-0 flex-1 items-center gap-2.5">{option.label}</span>
          <DropdownMenu.ItemIndicator className="size-1.5 rounded-full bg-accent" />
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <DropdownMenu.Label className="px-2.5 pt-2 pb-1 text-xs text-ink-soft">{children}</DropdownMenu.Label>
);
export const MenuSeparator = () => <DropdownMenu.Separator className="my-1 h-px bg-line" />;
