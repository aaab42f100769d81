/** Formats amounts and times in a reader's locale. Pure. */
import { PICO_PER_DOLLAR, type Pico } from "../base/money.ts";

export interface LocalizedFormat {
  /** Formats dollars in whole cents, rounded down. Amounts below a dollar have three significant digits. */
  dollars(amount: Pico): string;
  /** Formats a time with its time zone. */
  moment(unixSeconds: number): string;
}

interface Choice {
  locale: string | null;
  timeZone: string | null;
}

/** The API's digits and calendar in every locale. */
const ALIKE = { numberingSystem: "latn", calendar: "gregory" } as const;

/** Without a choice `en-US` and UTC apply, because an email cannot ask the browser. */
export function createLocalizedFormat({ locale, timeZone }: Choice): LocalizedFormat {
  const language = locale ?? "en-US";
  const whole = new Intl.NumberFormat(language, { ...ALIKE, maximumFractionDigits: 0 });
  const point = new Intl.NumberFormat(language, ALIKE).formatToParts(1.5).find(({ type }) => type === "decimal");
  const time = new Intl.DateTimeFormat(language, {
    ...{ ...ALIKE, hourCycle: "h23", timeZone: timeZone ?? "UTC", timeZoneName: "short" },
    ...{ year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" },
  });
  return {
    dollars(amount) {
      const exact = amount < 0n ? -amount : amount;
      let [unit, places] = [PICO_PER_DOLLAR / 100n, 2];
      for (; exact % unit !== 0n && exact < 100n * unit; places++) unit /= 10n;
      // A negative amount is rounded down too, away from zero.
      const units = amount >= 0n ? exact / unit : (exact + unit - 1n) / unit;
      const ofDollar = 10n ** BigInt(places);
      const part = String(units % ofDollar).padStart(places, "0");
      return `${amount < 0n ? "-" : ""}$${whole.format(units / ofDollar)}${point?.value ?? "."}${part}`;
    },
    moment: (unixSeconds) => time.format(unixSeconds * 1000),
  };
}

/** The format for texts without a known reader: webhooks, and names of purchases. */
export const DEFAULT_FORMAT: LocalizedFormat = createLocalizedFormat({ locale: null, timeZone: null });
