/** A checklist of steps from a fresh platform to a public one. Hidden when all are done. */
import { useQuery } from "@tanstack/react-query";
import { setupQuery, useTickSetup } from "../../../data/platform-overview.ts";
import { Card } from "../../../ui/card.tsx";
import { CheckField } from "../../../ui/form-fields.tsx";
import { Check } from "../../../ui/icons.tsx";
import { FirstLoadPlaceholder } from "../../../ui/page-sections.tsx";
import { toastError } from "../../../ui/toast.tsx";
import { listSetupSteps, type OperatorSetupStep } from "./setup-steps.ts";

export function SetupCard() {
  const setup = useQuery(setupQuery);
  const { data } = setup;
  const tickSetup = useTickSetup();
  if (data === undefined) return <FirstLoadPlaceholder query={setup} />;
  const steps = listSetupSteps(data);
  const done = steps.filter((one) => one.done).length;
  if (done === steps.length) return null;
  const tick = (step: OperatorSetupStep, isDone: boolean): void =>
    tickSetup.mutate(isDone ? [...data.ticked, step] : data.ticked.filter((one) => one !== step), {
      onError: toastError,
    });
  return (
    <Card
      title="Set up your platform"
      aside={<span className="text-ink-soft">{`${done} of ${steps.length} done`}</span>}
    >
      <ul aria-label="Set-up" className="grid grid-cols-1 gap-x-8 gap-y-3 md:grid-cols-2">
        {steps.map(({ step, title, says, guide, done: isDone, own }) => (
          <li key={step} className="flex items-start gap-3">
            {own !== undefined ? (
              <CheckField
                label={<span className="sr-only">{title}: done</span>}
                checked={isDone}
                disabled={tickSetup.isPending}
                onChange={({ target }) => tick(own, target.checked)}
              />
            ) : (
              <span className="mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full border border-line-strong/60">
                {isDone && <Check aria-hidden className="size-3 text-good" />}
              </span>
            )}
            <div className="min-w-0">
              <a href={guide} className="font-medium text-accent underline-offset-2 hover:underline">
                {title}
              </a>
              {isDone && <span className="sr-only"> (done)</span>}
              {!isDone && <p className="text-ink-soft">{says}</p>}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}
