/** Prints `--help` at every level, from the table of commands. */
import { type CommandDeclaration, type CommandDeclarations, type Flag, formatChoices } from "./command.ts";
import { measureTextWidth, PAINT_WITHOUT_COLORS, type Paint, padEnd, wrapText } from "./terminal-text.ts";

/** Help is not wider than this, because longer lines are hard to read. */
const COLUMNS_MAX = 100;

interface Page {
  columns: number;
  paint: Paint;
}

export function formatHelp(
  table: CommandDeclarations,
  name: string,
  page: Page = { columns: COLUMNS_MAX, paint: PAINT_WITHOUT_COLORS },
): string {
  const fitted = { ...page, columns: Math.min(page.columns, COLUMNS_MAX) };
  const command = Object.hasOwn(table.commands, name) ? table.commands[name] : undefined;
  const below = entriesBelow(table, name);
  if (command === undefined) return groupHelp(table, name, below, fitted);
  return [...commandHelp(`${table.program} ${name}`, command, fitted), ...section("Also", below, fitted)].join("\n");
}

function groupHelp(table: CommandDeclarations, name: string, below: [string, string][], page: Page): string {
  const self = [table.program, name].filter((part) => part !== "").join(" ");
  const { help, more, example } = name === "" ? table : (table.groups[name] ?? firstExample(table, name));
  return [
    usage([self, "COMMAND", "[arguments and flags]"], page),
    ...(help === undefined ? [] : paragraphs([sentence(help)], page)),
    ...section("Commands", below, page),
    ...paragraphs(more, page),
    ...paragraphs([`${self} COMMAND --help describes a command. ${table.program} --version prints the version.`], page),
    ...exampleOf(self, example, page),
  ].join("\n");
}

/** Makes the help of a group that defines none: the example of the group's first command. */
function firstExample(
  { commands }: CommandDeclarations,
  name: string,
): { help?: string; more?: string[]; example?: string } {
  const [first, command] = Object.entries(commands).find(([one]) => one.startsWith(`${name} `)) ?? [""];
  const words = [first.slice(name.length + 1), command?.example ?? ""];
  return { example: words.join(" ").trimEnd() };
}

function commandHelp(
  self: string,
  { help, args = {}, flags = {}, more, example }: CommandDeclaration,
  page: Page,
): string[] {
  const all: [string, Flag][] = [...Object.entries(flags), ["help", { help: "show this text" }]];
  return [
    usage([self, ...Object.keys(args), ...Object.entries(flags).map(([flag, of]) => usageOf(flag, of))], page),
    ...paragraphs([sentence(help)], page),
    ...section(
      "Arguments",
      Object.entries(args).map(([arg, of]) => [arg, described(of)]),
      page,
    ),
    ...section(
      "Flags",
      all.map(([flag, of]) => [spelled(flag, of), described(of)]),
      page,
    ),
    ...paragraphs(more, page),
    ...exampleOf(self, example, page),
  ];
}

/** Turns a short description into a sentence. */
const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`;
const spelled = (flag: string, { value }: Flag): string => (value === undefined ? `--${flag}` : `--${flag} ${value}`);
const usageOf = (flag: string, of: Flag): string =>
  of.required === true ? spelled(flag, of) : `[${spelled(flag, of)}]`;
const described = ({ help, oneOf }: Flag): string => (oneOf === undefined ? help : `${help}: ${formatChoices(oneOf)}`);

/** Formats the usage line. A flag and its value stay on one line. */
function usage(parts: string[], { columns, paint }: Page): string {
  const unbroken = parts.map((part) => part.replaceAll(" ", "\u00a0")).join(" ");
  return `${paint.strong("Usage:")} ${wrapText(unbroken, columns - 7, 9).replaceAll("\u00a0", " ")}`;
}

const paragraphs = (texts: string[] = [], { columns }: Page): string[] =>
  texts.length === 0 ? [] : ["", ...texts.map((text) => wrapText(text, columns))];

const exampleOf = (self: string, example: string | undefined, { paint }: Page): string[] =>
  example === undefined ? [] : ["", paint.strong("Example:"), `  ${self} ${example}`.trimEnd()];

function section(title: string, rows: [string, string][], { columns, paint }: Page): string[] {
  const left = Math.max(...rows.map(([name]) => measureTextWidth(name))) + 4;
  const lines = rows.map(
    ([name, text]) =>
      padEnd(`  ${name}`, left) + wrapText(text, columns - left).replaceAll("\n", `\n${" ".repeat(left)}`),
  );
  return rows.length === 0 ? [] : ["", paint.strong(`${title}:`), ...lines];
}

/** The commands whose names begin with these words. A group among them appears as one entry. */
function entriesBelow({ commands, groups }: CommandDeclarations, name: string): [string, string][] {
  const before = name === "" ? "" : `${name} `;
  const entries = new Map<string, string>();
  for (const [one, { help }] of Object.entries(commands)) {
    if (!one.startsWith(before) || one === name) continue;
    const group = Object.keys(groups).find((words) => words.startsWith(before) && `${one} `.startsWith(`${words} `));
    if (group === undefined) entries.set(one.slice(before.length), help);
    else entries.set(group.slice(before.length), groups[group]?.help ?? "");
  }
  return [...entries];
}
