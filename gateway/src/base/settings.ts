/**
 * Functions with which a folder declares its settings in its `config.ts`. Each variable has a parser, a default, a
 * unit, a range and one sentence of help. `gateway/src/config.ts` joins the declarations, and
 * `gateway/tools/write-settings.ts` writes the operators' reference from them.
 */
import { z } from "zod";

/** The values of environment variables by name. Unset and empty variables are absent. */
export type EnvironmentVariables = Record<string, string | undefined>;

interface SettingTexts {
  /** One sentence that explains the setting. */
  help: string;
  /** A Markdown link to more documentation, relative to docs/operators/. */
  see?: string;
  /** What happens without the variable, if there is no default value. */
  without?: string;
  /** Whether it is a secret. A secret may also be given as NAME_FILE, the path of a file that contains it. */
  secret?: boolean;
}

export interface Setting<T = unknown> extends SettingTexts {
  parser: z.ZodType<T>;
  /** Markdown for the reference: the default, and the allowed values with their unit. */
  shown: { default: string; allowed: string };
}

type Value<T, O> = O extends { default: unknown } ? T : T | undefined;

/** The parsed values of several settings. */
export type SettingValues<S> = { [Name in keyof S]: S[Name] extends Setting<infer T> ? T : never };

/** The settings of one folder, and the function that reads them. */
export interface SettingsDomain<S extends Record<string, Setting> = Record<string, Setting>, C = unknown> {
  title: string;
  /** Markdown text that the reference shows below the table. */
  note?: string;
  settings: S;
  /** Checks rules that relate several of these settings to each other. Returns one sentence per broken rule. */
  mistakes?: (variables: EnvironmentVariables) => string[];
  /** Removed settings, each with the one to use instead. A gateway that has one of them set does not start. */
  retired?: Record<string, string>;
  config: (values: SettingValues<S>) => C;
}

export const declareSettings = <S extends Record<string, Setting>, C>(
  declared: SettingsDomain<S, C>,
): SettingsDomain<S, C> => declared;

const code = (text: string): string => `\`${text}\``;

interface Shown {
  parser: z.ZodType;
  allowed: string;
  /** The default as it would be written in the environment. */
  written?: string | undefined;
}

function setting<T, O extends SettingTexts & { default?: unknown }>(options: O, { parser, allowed, written }: Shown) {
  const { help, see, without, secret, default: fallback } = options;
  const shown = written ?? (fallback === undefined ? undefined : String(fallback));
  return {
    help,
    ...(see !== undefined && { see }),
    ...(without !== undefined && { without }),
    ...(secret !== undefined && { secret }),
    parser: fallback === undefined ? parser.optional() : parser.default(fallback),
    shown: { default: shown === undefined ? (without ?? "–") : code(shown), allowed },
  } as Setting<Value<T, O>>;
}

const UNIT_WORDS: Record<string, string> = { s: "seconds", ms: "milliseconds" };

interface NumberOptions extends SettingTexts {
  /** The unit: `s`, `ms`, `MiB`, or a plural such as `days`. */
  unit: string;
  min: number;
  max: number;
  /** A number that the value must divide evenly. */
  divides?: number;
  default?: number;
}

/** A setting with a whole number. */
export function numberSetting<const O extends NumberOptions>(options: O): Setting<Value<number, O>> {
  const { unit, min, max, divides } = options;
  const words = UNIT_WORDS[unit] ?? unit;
  const whole = z.coerce
    .number(`must be a number of ${words}`)
    .int(`must be a whole number of ${words}`)
    .min(min, `must be ${min} or more`)
    .max(max, `must be ${max} or less`);
  const parser =
    divides === undefined ? whole : whole.refine((n) => divides % n === 0, `must divide ${divides} evenly`);
  const evenly = divides === undefined ? "" : `, a divisor of ${divides}`;
  return setting(options, { parser, allowed: `${min} to ${max} ${words}${evenly}` });
}

/** A setting with a port. 0: any free port. */
export function portSetting<const O extends SettingTexts & { default: number }>(options: O): Setting<Value<number, O>> {
  const parser = z.coerce
    .number("must be a port number")
    .int("must be a port number")
    .min(0, "must be 0 or more")
    .max(65535, "must be 65535 or less");
  return setting(options, { parser, allowed: "a port, or 0 for any free one" });
}

const listed = (words: readonly string[]): string =>
  words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;

export function choiceSetting<const T extends string, const O extends SettingTexts & { default?: NoInfer<T> }>(
  words: readonly T[],
  options: O,
): Setting<Value<T, O>> {
  return setting(options, { parser: z.enum(words, `must be ${listed(words)}`), allowed: listed(words.map(code)) });
}

/** A setting with one of two words, of which the first means true. */
export function flagSetting<const O extends SettingTexts & { default: boolean }>(
  [yes, no]: readonly ["true", "false"] | readonly ["on", "off"],
  options: O,
): Setting<boolean> {
  const words = [yes, no] as const;
  const parser = z.enum(words, `must be ${listed(words)}`).transform((word) => word === yes);
  return setting<boolean, O>(options, {
    parser,
    allowed: listed(words.map(code)),
    written: options.default ? yes : no,
  }) as Setting<boolean>;
}

interface TextOptions extends SettingTexts {
  matches?: RegExp;
  /** The rule that `matches` checks. It completes the sentence "must …": "begin with nats:// or tls://". */
  rule?: string;
  default?: string;
}

export function textSetting<const O extends TextOptions>(options: O): Setting<Value<string, O>> {
  const { matches, rule = "" } = options;
  const parser = matches === undefined ? z.string() : z.string().regex(matches, `must ${rule}`);
  return setting(options, { parser, allowed: ruled(rule) });
}

/** A setting with its own parser. `rule` completes the sentence "must …", for example "begin with http://". */
export function parsedSetting<T, const O extends SettingTexts & { rule: string; default?: NoInfer<T> }>(
  parser: z.ZodType<T>,
  options: O,
  written?: string,
): Setting<Value<T, O>> {
  return setting(options, { parser, allowed: ruled(options.rule), written });
}

const ruled = (rule: string): string => (rule === "" ? "" : `must ${rule}`);

export const webAddressSetting = <const O extends SettingTexts>(options: O): Setting<string | undefined> =>
  parsedSetting(z.url({ protocol: /^https?$/, error: "must begin with http:// or https://" }), {
    ...options,
    rule: "begin with http:// or https://",
  }) as Setting<string | undefined>;

/** Returns a mistake if only one of the two variables is set. */
export const findUnpairedVariable = (variables: EnvironmentVariables, one: string, other: string): string[] =>
  (variables[one] === undefined) === (variables[other] === undefined)
    ? []
    : [`${one} and ${other} must be set together`];

/**
 * Returns mistakes in a replaceable secret, which may be set together with its previous or next value. `nextAlone`:
 * `NAME_NEXT` may be set alone, because the current secret may be derived from others.
 */
export function findRotationMistakes(
  name: string,
  variables: EnvironmentVariables,
  { nextAlone = false } = {},
): string[] {
  const { [name]: current, [`${name}_OLD`]: old, [`${name}_NEXT`]: next } = variables;
  const mistakes: string[] = [];
  for (const [other, value] of Object.entries({ [`${name}_OLD`]: old, [`${name}_NEXT`]: next })) {
    if (value === undefined) continue;
    const mayBeAlone = nextAlone && other === `${name}_NEXT`;
    if (current === undefined && !mayBeAlone) mistakes.push(`${name} must be set when ${other} is set`);
    if (value === current) mistakes.push(`${other} must not be the same as ${name}`);
  }
  if (old !== undefined && next !== undefined) {
    mistakes.push(`${name}_OLD and ${name}_NEXT must not both be set: finish one replacement first`);
  }
  return mistakes;
}
