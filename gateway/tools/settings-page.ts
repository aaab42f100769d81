/** Generates docs/operators/settings.md, the reference of every setting, from the declarations in gateway/src. */
import type { Setting, SettingsDomain } from "../src/base/settings.ts";
import { SETTINGS_DOMAINS } from "../src/config.ts";

export const SETTINGS_PAGE = new URL("../../docs/operators/settings.md", import.meta.url);

const OPENING = `# Settings

\`tollgate serve\` is configured by environment variables only. An empty variable counts as not set. The gateway reports all mistakes in
its variables together and then does not start.
`;

const ENDING = `---

\`npx node gateway/tools/write-settings.ts\` writes this page from the \`config.ts\` of each folder of \`gateway/src\`.
`;

export function settingsPage(): string {
  const secrets = SETTINGS_DOMAINS.flatMap(({ settings }) => Object.entries(settings))
    .filter(([, { secret }]) => secret === true)
    .map(([name]) => `\`${name}\``);
  const retired = SETTINGS_DOMAINS.flatMap(({ retired = {} }) => Object.entries(retired));
  return [OPENING, ...SETTINGS_DOMAINS.map(section), filesSection(secrets), retiredSection(retired), ENDING].join("\n");
}

const section = ({ title, settings, note }: SettingsDomain): string =>
  `## ${title}

| Variable | Default | Allowed | Meaning |
|---|---|---|---|
${Object.entries(settings)
  .map(([name, setting]) => `| \`${name}\` | ${cellsOf(setting).join(" | ")} |`)
  .join("\n")}
${note === undefined ? "" : `\n${note}\n`}`;

const cellsOf = ({ help, see, shown }: Setting): string[] => [
  shown.default,
  shown.allowed === "" ? "–" : inCode(shown.allowed),
  see === undefined ? help : `${help} See ${see}.`,
];

/** Marks example URLs as code, so that Markdown does not make them links. */
const inCode = (allowed: string): string =>
  allowed.replaceAll(/(?<!`)\b[a-z]+:\/\/[^\s,()]*|(?<=be )\*/g, (address) => `\`${address}\``);

const filesSection = (secrets: string[]): string => `## Secrets in files

A secret can be read from a file instead: with \`KEY_PEPPER_FILE=/run/secrets/key_pepper\` the gateway reads \`KEY_PEPPER\` from that file.
Set the variable or its file, not both. A line feed at the end of the file is ignored. These can be read from a file:
${secrets.join(", ")}.
`;

const retiredSection = (retired: [string, string][]): string => `## Retired settings

A gateway does not start if a retired setting is set. The error message says what to do.

| Variable | What holds now |
|---|---|
${retired.map(([name, now]) => `| \`${name}\` | ${now} |`).join("\n")}
`;
