/** The columns that all request lists share. */
import type { RequestRecord } from "../api/answer-types.ts";
import { moneyColumn } from "../ui/money-text.tsx";
import type { Column } from "../ui/table.tsx";
import { TimeText } from "../ui/time-text.tsx";
import { OutcomeBadge } from "./outcome-badge.tsx";

type RequestColumn = Column<RequestRecord>;

/** The time column. On narrow screens it also shows the model and the outcome below the time. */
export const timeColumn = (as: "ago" | "short"): RequestColumn => ({
  title: "Time",
  cell: ({ created_at, model, outcome }) => (
    <>
      <span className="font-medium whitespace-nowrap">
        <TimeText at={created_at} as={as} />
      </span>
      <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-ink-soft @lg:hidden">
        {model}
        <OutcomeBadge of={outcome} />
      </span>
    </>
  ),
});

export const MODEL_COLUMN: RequestColumn = {
  title: "Model",
  from: "sm",
  cell: ({ model }) => <span className="whitespace-nowrap">{model ?? <span className="text-ink-soft">–</span>}</span>,
};

export const KEY_COLUMN: RequestColumn = {
  title: "Key",
  className: "max-w-40",
  cell: ({ key }) => (
    <span title={key.name} className="block truncate">
      {key.name}
    </span>
  ),
};

export const OUTCOME_COLUMN: RequestColumn = {
  title: "Outcome",
  from: "sm",
  cell: ({ outcome }) => <OutcomeBadge of={outcome} />,
};

export const CHARGE_COLUMN: RequestColumn = moneyColumn({ title: "Charge", of: ({ charge_micro }) => charge_micro });
