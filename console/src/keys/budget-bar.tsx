/** Shows how much of a key's budget is spent, as amounts and a bar. */
import type { ApiKey } from "../api/answer-types.ts";
import { parseMicro } from "../dollar-amounts.ts";
import { joinClasses } from "../ui/join-classes.ts";
import { MoneyText } from "../ui/money-text.tsx";
import { computeBudgetUsedPercent } from "./budget-used-percent.ts";

interface Props {
  /** For example "Daily budget". */
  label: string;
  /** The budget's period, for example "today". */
  words: string;
  spent: string;
  budget: string;
}

function BudgetBar({ label, words, spent, budget }: Props) {
  const percent = computeBudgetUsedPercent(parseMicro(spent), parseMicro(budget));
  const colour = percent >= 100 ? "bg-bad" : percent >= NEARLY ? "bg-warn" : "bg-accent";
  return (
    <div title={label} className="flex min-w-32 flex-col gap-1">
      <span className="text-xs text-ink-soft md:whitespace-nowrap">
        <span className={joinClasses("text-ink", percent >= 100 && "font-medium")}>
          <MoneyText of={spent} />
        </span>{" "}
        of <MoneyText of={budget} as="chosen" /> {words}
      </span>
      <span aria-hidden className="block h-1.5 overflow-hidden rounded-full bg-line">
        <span className={joinClasses("block h-full rounded-full", colour)} style={{ width: seen(percent, spent) }} />
      </span>
    </div>
  );
}

const NEARLY = 80;

/** The bar's width in percent. Any spending shows at least a sliver. */
const seen = (percent: number, spent: string): string => (parseMicro(spent) === 0n ? "0" : `max(0.25rem, ${percent}%)`);

type Budgets = Pick<
  ApiKey,
  "budget_day_micro" | "budget_month_micro" | "spend_today" | "spend_this_month" | "revoked_at"
>;

/** The bars of the key's budgets; renders nothing if the key has no budget. */
export function BudgetBars({ of }: { of: Budgets }) {
  const { budget_day_micro: day, budget_month_micro: month } = of;
  if (day === null && month === null) return null;
  return (
    <div className="flex flex-col gap-2">
      {day !== null && (
        <BudgetBar label="Daily budget" words="today" spent={of.spend_today.charge_micro} budget={day} />
      )}
      {month !== null && (
        <BudgetBar label="Monthly budget" words="this month" spent={of.spend_this_month.charge_micro} budget={month} />
      )}
    </div>
  );
}
