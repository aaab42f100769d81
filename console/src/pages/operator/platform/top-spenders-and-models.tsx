/** The accounts with the highest spending, and their models. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { PlatformPerformance } from "../../../api/answer-types.ts";
import { parseMicro, toChartDollars } from "../../../dollar-amounts.ts";
import { Card } from "../../../ui/card.tsx";
import { BarList } from "../../../ui/chart/bar-list.tsx";
import { MoneyText } from "../../../ui/money-text.tsx";

const MODELS_MAX = 10;

export function TopSpendersAndModels({ performance: { top_accounts, models } }: { performance: PlatformPerformance }) {
  const spent = models.filter(({ charge_micro }) => parseMicro(charge_micro) > 0n).slice(0, MODELS_MAX);
  return (
    <div className="grid grid-cols-1 gap-5 lg:grid-cols-2">
      <Card title="Spend by account">
        <Spend
          label="Spend by account"
          colour={1}
          rows={top_accounts.map(({ account, name, charge_micro }) => ({
            key: account,
            charge_micro,
            name: (
              <Link
                to="/operator/accounts/$id"
                params={{ id: account }}
                className="text-accent underline-offset-2 hover:underline"
              >
                {name}
              </Link>
            ),
          }))}
        />
      </Card>
      <Card title="Spend by model">
        <Spend
          label="Spend by model"
          colour={2}
          rows={spent.map(({ model, charge_micro }) => ({
            key: model,
            charge_micro,
            name: <code className="font-mono">{model}</code>,
          }))}
        />
      </Card>
    </div>
  );
}

interface SpendProps {
  label: string;
  colour: number;
  rows: { key: string; name: ReactNode; charge_micro: string }[];
}

function Spend({ label, colour, rows }: SpendProps) {
  if (rows.length === 0) return <p className="text-ink-soft">No charges.</p>;
  return (
    <BarList
      label={label}
      colour={colour}
      items={rows.map(({ key, name, charge_micro }) => ({
        key,
        name,
        value: toChartDollars(parseMicro(charge_micro)),
        text: <MoneyText of={charge_micro} exact />,
      }))}
    />
  );
}
