/** The user's locale and time zone for numbers, dates and times in the console and in emails. */
import type { Me } from "../../api/answer-types.ts";
import { useSetPreferences } from "../../data/sign-in-security.ts";
import { formatExactDollars } from "../../dollar-amounts.ts";
import {
  browserLocale,
  formatDayAndTime,
  LOCALES,
  makeLocaleLabel,
  makeTimeZoneLabel,
  readBrowserTimeZone,
  timeZones,
} from "../../locale.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { Form, readTextField } from "../../ui/form.tsx";
import { findFieldError, SelectField } from "../../ui/form-fields.tsx";
import { toast } from "../../ui/toast.tsx";

const EXAMPLE = 1_234_500_000_000_000n;

export function LocaleCard({ of: { locale, time_zone: timeZone } }: { of: Me["identity"] }) {
  const set = useSetPreferences();
  const submit = (fields: FormData): void =>
    set.mutate(
      { locale: readTextField(fields, "locale") || null, time_zone: readTextField(fields, "time_zone") || null },
      { onSuccess: () => toast("Formats changed") },
    );
  const withOwn = (all: readonly string[], own: string | null): string[] =>
    own === null || all.includes(own) ? [...all] : [own, ...all];
  return (
    <Card title="Numbers, dates and times">
      <p className="mb-4 max-w-prose text-ink-soft">
        These formats apply in the console, to amounts that you type, and in emails to you. Example:{" "}
        {formatExactDollars(EXAMPLE)} · {formatDayAndTime(Date.now())} · {makeTimeZoneLabel(Date.now())}. Billing days
        and months are always in UTC, and marked so.
      </p>
      <div className="max-w-sm">
        <Form onSubmit={submit} error={set.error} fields={["locale", "time_zone"]}>
          <SelectField
            label="Number and date format"
            name="locale"
            defaultValue={locale ?? ""}
            options={[
              { value: "", label: `As this browser (${makeLocaleLabel(browserLocale())})` },
              ...withOwn(LOCALES, locale).map((tag) => ({ value: tag, label: makeLocaleLabel(tag) })),
            ]}
            error={findFieldError(set.error, "locale")}
          />
          <SelectField
            label="Time zone"
            name="time_zone"
            defaultValue={timeZone ?? ""}
            options={[
              { value: "", label: `As this browser (${readBrowserTimeZone()})` },
              ...withOwn(timeZones(), timeZone).map((name) => ({ value: name, label: name })),
            ]}
            error={findFieldError(set.error, "time_zone")}
          />
          <Button type="submit" className="self-start" busy={set.isPending}>
            Save
          </Button>
        </Form>
      </div>
    </Card>
  );
}
