/** What `--help` prints, at every level, out of the table of commands. */
import { type Command, type CommandTable, choice, type Flag } from "./command.ts";

export function helpOf(table: CommandTable, name: string): string {
  const command = Object.hasOwn(table.commands, name) ? table.commands[name] : undefined;
  const below = entriesBelow(table, name);
  if (command === undefined) return groupHelp(table, name, below);
  const also = below.length === 0 ? "" : `\n\nAlso:\n${columns(below)}`;
  return commandHelp(`${table.program} ${name}`, command) + also;
}

function groupHelp(table: CommandTable, name: string, below: [string, string][]): string {
  const self = [table.program, name].filter((part) => part !== "").join(" ");
  const { help, more, example } =
    name === "" ? { ...table, more: [] } : (table.groups[name] ?? firstExample(table, name));
  return [
    `Usage: ${self} COMMAND [arguments and flags]`,
    ...paragraph(help === undefined ? [] : [sentence(help)]),
    `\nCommands:\n${columns(below)}`,
    ...paragraph(more),
    `\n${self} COMMAND --help tells what a command takes; ${table.program} --version tells the version.`,
    ...(example === undefined ? [] : [`\nExample:\n  ${self} ${example}`]),
  ].join("\n");
}

/** Of a group that has no more to say than its commands. */
function firstExample({ commands }: CommandTable, name: string): { help?: string; more?: string[]; example?: string } {
  const [first, command] = Object.entries(commands).find(([one]) => one.startsWith(`${name} `)) ?? [""];
  const words = [first.slice(name.length + 1), command?.example ?? ""];
  return { example: words.join(" ").trimEnd() };
}

function commandHelp(self: string, { help, args = {}, flags = {}, more, example }: Command): string {
  const all: [string, Flag][] = [...Object.entries(flags), ["help", { help: "this text" }]];
  const usage = [self, ...Object.keys(args), ...Object.entries(flags).map(([flag, of]) => usageOf(flag, of))];
  return [
    `Usage: ${usage.join(" ")}`,
    ...paragraph([sentence(help)]),
    ...section(
      "Arguments",
      Object.entries(args).map(([arg, of]) => [arg, described(of)]),
    ),
    ...section(
      "Flags",
      all.map(([flag, of]) => [spelled(flag, of), described(of)]),
    ),
    ...paragraph(more),
    ...(example === undefined ? [] : [`\nExample:\n  ${self}${example === "" ? "" : ` ${example}`}`]),
  ].join("\n");
}

/** As a line of a list is written, and as one by itself. */
const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`;
const spelled = (flag: string, { value }: Flag): string => (value === undefined ? `--${flag}` : `--${flag} ${value}`);
const usageOf = (flag: string, of: Flag): string =>
  of.required === true ? spelled(flag, of) : `[${spelled(flag, of)}]`;
const described = ({ help, oneOf }: Flag): string => (oneOf === undefined ? help : `${help}: ${choice(oneOf)}`);
const paragraph = (lines: string[] = []): string[] => (lines.length === 0 ? [] : ["", ...lines]);
const section = (title: string, rows: [string, string][]): string[] =>
  rows.length === 0 ? [] : [`\n${title}:\n${columns(rows)}`];

/** Every command that begins so; a group that is deeper stands for its own. */
function entriesBelow({ commands, groups }: CommandTable, name: string): [string, string][] {
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

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}
