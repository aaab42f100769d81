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

type RequestColumn = Column<RequestRecord>;

const text = (title: string, of: (request: RequestRecord) => ReactNode, className = "max-w-36"): RequestColumn => ({
  title,
  from: "xl",
  className,
  cell: (request) => <span className="block truncate">{of(request) ?? <span className="text-ink-soft">–</span>}</span>,
});
const number = (
  title: string,
  cell: (request: RequestRecord) => ReactNode,
  from: "lg" | "xl" = "xl",
): RequestColumn => ({
  title,
  from,
  align: "right",
  cell,
});

const LABEL = text("Label", ({ label }) => label);

/** All columns except the time, which is always shown, in display order. */
const COLUMNS: RequestColumn[] = [
  MODEL_COLUMN,
  { ...KEY_COLUMN, from: "lg" },
  LABEL,
  OUTCOME_COLUMN,
  text("Status", ({ http_status }) => http_status, ""),
  text("Finish", ({ finish_reason }) => finish_reason),
  text("Endpoint", ({ endpoint }) => endpoint),
  text("Client", ({ client }) => (client === "" ? null : client)),
  {
    title: "Tokens",
    from: "md",
    align: "right",
    cell: ({ usage }) => (
      <span className="whitespace-nowrap">
        <CountText of={usage.prompt_tokens} /> <span className="text-ink-soft">in</span>{" "}
        <CountText of={usage.completion_tokens} /> <span className="text-ink-soft">out</span>
      </span>
    ),
  },
  number("Attempts", ({ attempts }) => <CountText of={attempts} />),
  number("Queued", ({ queue_ms }) => <DurationText ms={queue_ms} />),
  number("First token", ({ ttft_ms }) => <DurationText ms={ttft_ms} />),
  number("Duration", ({ duration_ms }) => <DurationText ms={duration_ms} />, "lg"),
  CHARGE_COLUMN,
];
export const COLUMN_TITLES = COLUMNS.map(({ title }) => title);

/** The maximum number of columns, which fit on a screen 1,280 pixels wide. */
const CHOSEN_MAX = 8;
const BY_DEFAULT = ["Model", "Key", "Outcome", "Tokens", "First token", "Duration", "Charge"];

export const defaultColumns = (hasLabels: boolean): string[] => (hasLabels ? [...BY_DEFAULT, "Label"] : BY_DEFAULT);

export const listChosenColumns = (titles: readonly string[]): RequestColumn[] => [
  timeColumn("short"),
  ...COLUMNS.filter(({ title }) => titles.includes(title)),
];

interface Props {
  chosen: readonly string[];
  /** Called with the chosen titles; undefined stands for the default columns. */
  onChoose: (titles: string[] | undefined) => void;
}

export function ColumnsMenu({ chosen, onChoose }: Props) {
  const isFull = chosen.length >= CHOSEN_MAX;
  return (
    <Menu
      button={
        <Button>
          <SlidersHorizontal aria-hidden className="size-4" />
          Columns
        </Button>
      }
    >
      <MenuLabel>{isFull ? `At most ${CHOSEN_MAX} fit: remove one first` : "Time is always shown"}</MenuLabel>
      {COLUMN_TITLES.map((title) => {
        const isChosen = chosen.includes(title);
        return (
          <DropdownMenu.CheckboxItem
            key={title}
            checked={isChosen}
            disabled={!isChosen && isFull}
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
