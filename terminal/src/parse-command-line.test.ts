import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Command, CommandInput, CommandTable } from "./command.ts";
import { UsageError } from "./errors.ts";
import { formatHelp } from "./help.ts";
import { findNearestWord } from "./nearest-word.ts";
import { parseCommandLine } from "./parse-command-line.ts";
import { type Column, formatProperties, formatTable } from "./table-format.ts";

const run = async (): Promise<number> => 0;
const lend: Command = {
  help: "lend a book to somebody",
  args: { BOOK: { help: "its number" }, KIND: { help: "how long", oneOf: ["day", "week"] } },
  flags: {
    to: { value: "NAME", required: true, help: "who takes it" },
    note: { value: "TEXT", repeated: true, help: "what to remember" },
    quiet: { help: "say nothing" },
  },
  example: "12 week --to Ada",
  run,
};
const LIBRARY: CommandTable = {
  program: "library",
  version: "1.2.3",
  help: "books",
  example: "open",
  commands: {
    "desk book lend": lend,
    "desk book list": { help: "all books", run },
    "desk hours": { help: "when it is open", run },
    "desk hours set": { help: "say when", run },
    open: { help: "open the doors", run },
  },
  groups: { desk: { help: "what librarians do", example: "book list" } },
};

function given(...args: string[]): CommandInput {
  const asked = parseCommandLine(LIBRARY, args);
  assert.ok(asked.kind === "run");
  return asked.given;
}

function refusal(...args: string[]): UsageError {
  try {
    parseCommandLine(LIBRARY, args);
  } catch (error) {
    assert.ok(error instanceof UsageError, String(error));
    return error;
  }
  assert.fail(`${args.join(" ")} was understood`);
}

describe("a command line", () => {
  test("is parsed according to the table of commands", () => {
    const said = given("desk", "book", "lend", "12", "--to=Ada", "week", "--quiet", "--note", "a", "--note=-b");
    assert.deepEqual(said.args, ["12", "week"]);
    assert.deepEqual(said.flags, { to: "Ada", note: "a,-b" });
    assert.deepEqual([...said.switches], ["quiet"]);
    assert.deepEqual(given("desk", "book", "lend", "--to", "-", "--", "--help", "day").args, ["--help", "day"]);
  });

  test("shows help at every level, for every form of the help flag", () => {
    for (const [args, name] of [
      [["--help"], ""],
      [["help"], ""],
      [["desk", "-h"], "desk"],
      [["help", "desk", "book"], "desk book"],
      [["desk", "book", "lend", "--help"], "desk book lend"],
      [["desk", "book", "lend", "12", "--to", "--help"], "desk book lend"],
    ] as [string[], string][]) {
      assert.deepEqual(parseCommandLine(LIBRARY, args), { kind: "help", name, asked: true }, args.join(" "));
    }
    assert.deepEqual(parseCommandLine(LIBRARY, ["desk"]), { kind: "help", name: "desk", asked: false });
    for (const args of [["--version"], ["-V"], ["desk", "--version"], ["desk", "book", "list", "--version"]]) {
      assert.deepEqual(parseCommandLine(LIBRARY, args), { kind: "version" });
    }
  });

  test("with a mistake causes an error that suggests the likely correction", () => {
    const cases: [string[], string][] = [
      [["opne"], "there is no command 'opne'; did you mean 'open'?"],
      [["fly"], "there is no command 'fly'; there are desk, open"],
      [["book", "lend"], "there is no command 'book'; did you mean 'desk book lend'?"],
      [["desk", "book", "lned"], "there is no command 'desk book lned'; did you mean 'desk book lend'?"],
      [["desk", "hours", "sett"], "there is no command 'desk hours sett'; did you mean 'desk hours set'?"],
      [["constructor"], "there is no command 'constructor'; there are desk, open"],
      [["--quiet", "open"], "--quiet must come after the command: library COMMAND --quiet"],
      [["open", "wide"], "open takes no arguments: 'wide' is not expected"],
      [["open", "--wide"], "there is no flag --wide"],
      [["open", "--constructor"], "there is no flag --constructor"],
      [["desk", "book", "lend", "1", "day"], "--to is missing: who takes it"],
      [["desk", "book", "lend", "1", "--to", "A"], "KIND is missing: desk book lend takes BOOK KIND"],
      [["desk", "book", "lend", "1", "year", "--to", "A"], "KIND must be day or week"],
      [["desk", "book", "lend", "1", "day", "--to"], "--to needs a value: --to NAME"],
      [["desk", "book", "lend", "1", "day", "--to", "A", "--quiet=no"], "--quiet takes no value"],
      [["desk", "book", "lend", "1", "day", "--to", "A", "-q"], "there is no flag -q"],
      [
        ["desk", "book", "lend", "1", "--too", "A", "--colour"],
        "there is no flag --too; did you mean --to?; there is no flag --colour",
      ],
    ];
    for (const [args, told] of cases) assert.equal(refusal(...args).message, told, args.join(" "));
    assert.equal(refusal("desk", "book", "lend", "--x").command, "desk book lend");
    assert.equal(refusal("desk", "fly").command, "desk");
  });
});

describe("--help", () => {
  test("of a command prints usage, arguments, flags and an example", () => {
    assert.equal(
      formatHelp(LIBRARY, "desk book lend"),
      `Usage: library desk book lend BOOK KIND --to NAME [--note TEXT] [--quiet]

Lend a book to somebody.

Arguments:
  BOOK  its number
  KIND  how long: day or week

Flags:
  --to NAME    who takes it
  --note TEXT  what to remember
  --quiet      say nothing
  --help       show this text

Example:
  library desk book lend 12 week --to Ada`,
    );
  });

  test("of the program and of a group lists the commands below it", () => {
    assert.match(
      formatHelp(LIBRARY, ""),
      /^Usage: library COMMAND .*\n\nBooks\.\n\nCommands:\n {2}desk {2}what librarians do\n {2}open {2}open the doors\n/,
    );
    assert.match(
      formatHelp(LIBRARY, "desk"),
      /\n {2}book lend {2}lend a book.*\n {2}book list .*\n {2}hours {6}when.*\n {2}hours set {2}say when\n/,
    );
    assert.match(formatHelp(LIBRARY, "desk"), /\nExample:\n {2}library desk book list$/);
    assert.match(
      formatHelp(LIBRARY, "desk book"),
      /Commands:\n {2}lend .*\n {2}list .*\n\nlibrary desk book COMMAND --help/,
    );
    assert.match(formatHelp(LIBRARY, "desk book"), /\nExample:\n {2}library desk book lend 12 week --to Ada$/);
    assert.match(formatHelp(LIBRARY, "desk hours"), /Also:\n {2}set {2}say when$/);
  });
});

test("a suggested word differs from the typed word by at most a few typing mistakes", () => {
  const words = ["create", "list", "show", "export", "paid", "requests-per-minute", "reason"];
  assert.equal(findNearestWord("crate", words), "create");
  assert.equal(findNearestWord("lsit", words), "list");
  assert.equal(findNearestWord("requests", words), "requests-per-minute");
  assert.equal(findNearestWord("resaon", words), "reason");
  assert.equal(findNearestWord("refund", words), undefined);
  assert.equal(findNearestWord("", words), undefined);
});

test("tables have headers, and amounts align at their decimal points", () => {
  const columns: Column<{ name: string; sum: string; count: number }>[] = [
    { title: "NAME", cell: ({ name }) => name },
    { title: "SUM", align: "money", cell: ({ sum }) => sum },
    { title: "N", align: "right", cell: ({ count }) => count },
    { title: "NOTE", cell: ({ count }) => (count > 9 ? "many" : "") },
  ];
  const rows = [
    { name: "Jürgen\u001b[2J", sum: "$12.34", count: 7 },
    { name: "B", sum: "-$0.0098304", count: 12 },
  ];
  assert.equal(
    formatTable(columns, rows),
    ["NAME                SUM   N  NOTE", "Jürgen [2J  $12.34        7", "B           -$0.0098304  12  many"].join(
      "\n",
    ),
  );
  assert.equal(formatProperties({ Name: "a\u202eb", Left: undefined, Count: 3, "": "" }), "Name   a b\nCount  3");
});
