/**
 * The command `completion bash|zsh|fish`: prints shell scripts that complete commands, flags and values from the table
 * of commands.
 */
import type { BaseCommandContext, Command, CommandDeclarations, Flag } from "./command.ts";
import { listNextWords } from "./parse-command-line.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
const HELP: Record<string, Flag> = { help: { help: "show help" } };

/** The `completion` command. `table` is a function, because the table contains this command itself. */
export function completionCommand(program: string, table: () => CommandDeclarations): Command<BaseCommandContext> {
  return {
    help: "print the completion script of a shell",
    args: { SHELL: { help: "which shell", oneOf: SHELLS } },
    more: [
      `bash: add this line to ~/.bashrc: source <(${program} completion bash)`,
      `zsh: add this line to ~/.zshrc, below compinit: source <(${program} completion zsh)`,
      `fish: ${program} completion fish > ~/.config/fish/completions/${program}.fish`,
    ],
    example: "bash",
    async run({ args: [shell] }, { terminal }) {
      terminal.print(completionScript(table(), shell as (typeof SHELLS)[number]));
      return 0;
    },
  };
}

export function completionScript(table: CommandDeclarations, shell: (typeof SHELLS)[number]): string {
  return { bash, zsh, fish }[shell](table.program, placesOf(table));
}

/** A position on the command line, after the words of a command's name, with the words that can follow. */
interface Place {
  /** The words before this point, such as `admin key`; empty after the program's name. */
  path: string;
  words: [word: string, help: string][];
  /** The allowed values of the first argument. */
  values: readonly string[];
  flags: [name: string, flag: Flag][];
}

function placesOf(table: CommandDeclarations): Place[] {
  const { commands, groups } = table;
  const paths = new Set(
    Object.keys(commands).flatMap((name) => {
      const words = name.split(" ");
      return ["", ...words.map((_, i) => words.slice(0, i + 1).join(" "))];
    }),
  );
  return [...paths].map((path) => {
    const command = Object.hasOwn(commands, path) ? commands[path] : undefined;
    const helpOf = (word: string): string => {
      const name = path === "" ? word : `${path} ${word}`;
      return commands[name]?.help ?? groups[name]?.help ?? "";
    };
    return {
      path,
      words: listNextWords(table, path).map((word) => [word, helpOf(word)]),
      values: Object.values(command?.args ?? {})[0]?.oneOf ?? [],
      flags: Object.entries({ ...command?.flags, ...HELP }),
    };
  });
}

const takesPath = ({ value }: Flag): boolean => value === "DIR" || value === "FILE";
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const functionOf = (program: string): string => `_${program.replaceAll("-", "_")}`;
const flagNames = ({ flags }: Place): string[] => flags.map(([name]) => `--${name}`);
const offered = (place: Place): string[] => [...place.words.map(([word]) => word), ...place.values];

/** The loop that finds the command's name among the typed words, in syntax that bash and zsh share. */
const findPath = (places: Place[], words: string): string => `  local word cmd=""
  for word in ${words}; do
    case "$cmd/$word" in
      ${places.flatMap(({ path, words: next }) => next.map(([word]) => quoted(`${path}/${word}`))).join(" | ")}) cmd="\${cmd:+$cmd }$word" ;;
      *) break ;;
    esac
  done`;

function bash(program: string, places: Place[]): string {
  const name = functionOf(program);
  const cases = places.map((place) => {
    const values = place.flags.flatMap(([flag, of]) => {
      if (of.oneOf !== undefined) return [`        --${flag}) words=${quoted(of.oneOf.join(" "))} ;;`];
      if (takesPath(of)) return [`        --${flag}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
      return of.value === undefined ? [] : [`        --${flag}) return ;;`];
    });
    return `    ${quoted(place.path)})
      words=${quoted(offered(place).join(" "))} flags=${quoted(flagNames(place).join(" "))}
      case "$prev" in
${[...values, '        *) [[ "$cur" == -* ]] && words=$flags ;;'].join("\n")}
      esac ;;`;
  });
  return `# Completion of ${program} for bash: source <(${program} completion bash)
${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words="" flags=""
${findPath(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$cmd" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F ${name} ${program}`;
}

/**
 * zsh's `_describe` separates the name of an entry from its description by a colon. A colon in the name must therefore
 * be escaped.
 */
const entry = (name: string, help: string): string => quoted(`${name.replaceAll(":", "\\:")}:${help}`);

function zsh(program: string, places: Place[]): string {
  const name = functionOf(program);
  const cases = places.map((place) => {
    const values = place.flags.flatMap(([flag, of]) => {
      if (of.oneOf !== undefined) return [`        --${flag}) compadd -- ${of.oneOf.map(quoted).join(" ")}; return ;;`];
      if (takesPath(of)) return [`        --${flag}) _files; return ;;`];
      return of.value === undefined ? [] : [`        --${flag}) return ;;`];
    });
    const entries = [
      ...place.words.map(([word, help]) => entry(word, help)),
      ...place.values.map((value) => entry(value, "")),
    ];
    return `    ${quoted(place.path)})
      words=(${entries.join(" ")})
      flags=(${place.flags.map(([flag, { help }]) => entry(`--${flag}`, help)).join(" ")})
      case "$prev" in
${[...values, "        *) ;;"].join("\n")}
      esac ;;`;
  });
  return `#compdef ${program}
# Completion of ${program} for zsh: source <(${program} completion zsh)
${name}() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}"
  local -a line flags
  line=("\${(@)words[2,CURRENT-1]}")
  local -a words
${findPath(places, `"\${line[@]}"`)}
  case "$cmd" in
${cases.join("\n")}
  esac
  if [[ "$cur" == -* ]]; then _describe flag flags; else _describe command words; fi
}
compdef ${name} ${program}`;
}

function fish(program: string, places: Place[]): string {
  const at = `__${functionOf(program).slice(1)}_at`;
  const paths = places.flatMap(({ path }) => (path === "" ? [] : [quoted(path)]));
  const lines = places.flatMap((place) => {
    const begin = `complete -c ${program} -n ${quoted(`${at} "${place.path}"`)}`;
    return [
      ...place.words.map(([word, help]) => `${begin} -f -a ${quoted(word)} -d ${quoted(help)}`),
      ...place.values.map((value) => `${begin} -f -a ${quoted(value)}`),
      ...place.flags.map(([flag, of]) => {
        const value =
          of.oneOf === undefined
            ? takesPath(of)
              ? " -r -F"
              : of.value === undefined
                ? ""
                : " -x"
            : ` -x -a ${quoted(of.oneOf.join(" "))}`;
        return `${begin} -l ${flag}${value} -d ${quoted(of.help)}`;
      }),
    ];
  });
  return `# Completion of ${program} for fish: ${program} completion fish > ~/.config/fish/completions/${program}.fish
function ${at}
  set -l path
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$path $word")
    contains -- "$longer" ${paths.join(" ")}; or break
    set path $longer
  end
  test "$path" = "$argv[1]"
end
complete -c ${program} -f
${lines.join("\n")}`;
}
