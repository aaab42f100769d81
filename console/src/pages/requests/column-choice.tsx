/** The columns of the request list, and the menu to choose them. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import type { RequestRecord } from "../../api/answer-types.ts";
import {
  CHARGE_COLUMN,
  KEY_COLUMN,
  MODEL_COLUMN,
  OUTCOME_COLUMN,
  timeColumn,
} from "../../requests/request-columns.tsx";
import { Button } from "../../ui/button.tsx";
import { Check, SlidersHorizontal } from "../../ui/icons.tsx";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../../ui/menu.tsx";
import type { Column } from "../../ui/table.tsx";
import { CountText, DurationText } from "../../ui/time-text.tsx";

interface RequestColumn extends Column<RequestRecord> {
  /** The least width with long contents, in pixels. */
  width: number;
}

const FLEXIBLE = { width: 96, className: "w-1/6 min-w-24 max-w-0" };

/** A column of texts, which are cut if there is no space. */
const text = (title: string, of: (request: RequestRecord) => ReactNode): RequestColumn => ({
  ...FLEXIBLE,
  title,
  from: "xl",
  cell: (request) => <span className="block truncate">{of(request) ?? <span className="text-ink-soft">–</span>}</span>,
});
const number = (
  title: string,
  cell: (request: RequestRecord) => ReactNode,
  { width, from = "xl" }: { width: number; from?: "lg" | "xl" },
): RequestColumn => ({ title, from, align: "right", cell, width });

/** All columns except the time, which is always shown, in display order. */
const COLUMNS: RequestColumn[] = [
  { ...MODEL_COLUMN, width: 107 },
  { ...KEY_COLUMN, ...FLEXIBLE, from: "lg" },
  text("Label", ({ label }) => label),
  { ...OUTCOME_COLUMN, width: 180 },
  number("Status", ({ http_status }) => http_status, { width: 70 }),
  text("Finish", ({ finish_reason }) => finish_reason),
  text("Endpoint", ({ endpoint }) => endpoint),
  text("Client", ({ client }) => (client === "" ? null : client)),
  {
    title: "Tokens",
    from: "md",
    align: "right",
    width: 140,
    cell: ({ usage }) => (
      <span className="whitespace-nowrap">
        <CountText of={usage.prompt_tokens} /> <span className="text-ink-soft">in</span>{" "}
        <CountText of={usage.completion_tokens} /> <span className="text-ink-soft">out</span>
      </span>
    ),
  },
  number("Attempts", ({ attempts }) => <CountText of={attempts} />, { width: 84 }),
  number("Queued", ({ queue_ms }) => <DurationText ms={queue_ms} />, { width: 76 }),
  number("First token", ({ ttft_ms }) => <DurationText ms={ttft_ms} />, { width: 87 }),
  number("Duration", ({ duration_ms }) => <DurationText ms={duration_ms} />, { width: 76, from: "lg" }),
  { ...CHARGE_COLUMN, width: 126 },
];
export const COLUMN_TITLES = COLUMNS.map(({ title }) => title);

const BY_DEFAULT = ["Model", "Key", "Outcome", "Tokens", "Duration", "Charge"];

export const defaultColumns = (hasLabels: boolean): string[] => [...BY_DEFAULT, hasLabels ? "Label" : "First token"];

const TIME_WIDTH = 153;
/** The widths of a table from which it shows columns with `from: "page"` and `from: "xl"`. */
const WIDTHS = { page: 960, xl: 1024 };

const sumWidths = (columns: RequestColumn[]): number => columns.reduce((sum, { width }) => sum + width, TIME_WIDTH);
const findColumns = (titles: readonly string[]): RequestColumn[] =>
  COLUMNS.filter(({ title }) => titles.includes(title));

/** Whether a wide table has space for all these columns. */
export const doColumnsFit = (titles: readonly string[]): boolean => sumWidths(findColumns(titles)) <= WIDTHS.xl;

/** The columns to show. As many as fit are shown on a screen 1,280 pixels wide, the others on wider screens. */
export function listChosenColumns(titles: readonly string[]): Column<RequestRecord>[] {
  const chosen = findColumns(titles);
  let used = sumWidths(chosen.filter(({ from }) => from !== "xl"));
  const fitted = chosen.map((column): Column<RequestRecord> => {
    if (column.from !== "xl" || used + column.width > WIDTHS.page) return column;
    used += column.width;
    return { ...column, from: "page" };
  });
  return [timeColumn("short"), ...fitted];
}

interface Props {
  chosen: readonly string[];
  /** Called with the chosen titles; undefined stands for the default columns. */
  onChoose: (titles: string[] | undefined) => void;
}

export function ColumnsMenu({ chosen, onChoose }: Props) {
  const isTooWide = (title: string): boolean => !chosen.includes(title) && !doColumnsFit([...chosen, title]);
  return (
    <Menu
      button={
        <Button>
          <SlidersHorizontal aria-hidden className="size-4" />
          Columns
        </Button>
      }
    >
      <MenuLabel>
        {COLUMN_TITLES.some(isTooWide) ? "To make space for others, remove some" : "Time is always shown"}
      </MenuLabel>
      {COLUMN_TITLES.map((title) => {
        const isChosen = chosen.includes(title);
        return (
          <DropdownMenu.CheckboxItem
            key={title}
            checked={isChosen}
            disabled={isTooWide(title)}
            onSelect={(event) => event.preventDefault()}
            onCheckedChange={(on) => onChoose(on ? [...chosen, title] : chosen.filter((one) => one !== title))}
            className="flex cursor-pointer items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none select-none data-[disabled]:text-ink-soft data-[disabled]:opacity-70 data-[highlighted]:bg-sunken"
          >
            <span className="flex size-4 items-center justify-center rounded border border-line-strong/60">
              <DropdownMenu.ItemIndicator>
                <Check aria-hidden className="size-3" />
              </DropdownMenu.ItemIndicator>
            </span>
            {title}
          </DropdownMenu.CheckboxItem>
        );
      })}
      <MenuSeparator />
      <MenuItem onSelect={() => onChoose(undefined)}>Reset</MenuItem>
    </Menu>
  );
}
