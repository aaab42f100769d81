/** The guide's sections and pages. To add a page, add a line to the table. */

/** Sections in the order of the navigation. Each page: its file, from the root of the repository, and its name in the navigation. */
const TABLE: Record<string, Record<string, string>> = {
  Guide: {
    "docs/README.md": "Where to begin",
    "docs/console.md": "The console",
  },
  Builders: {
    "docs/builders.md": "For builders",
    "docs/clients.md": "Clients, driven",
    "examples/README.md": "Examples",
  },
  Hosts: {
    "docs/hosts.md": "For hosts",
    "docs/engines.md": "Engines",
  },
  Operators: {
    "docs/operators.md": "For operators",
    "deploy/README.md": "Deploying",
    "docs/runbook.md": "Runbook",
    "docs/operators/settings.md": "Settings",
    "docs/operators/watching.md": "Metrics, logs, traces",
    "docs/operators/failures.md": "When a part is away",
    "docs/operators/nats.md": "NATS",
    "docs/operators/sign-in.md": "Sign-in",
    "docs/operators/backup.md": "Backup and restore",
    "docs/operators/rotation.md": "Rotating secrets",
    "docs/operators/retention.md": "Keeping records",
    "docs/operators/administration.md": "Administration",
    "docs/operators/money.md": "Money",
    "docs/operators/trust.md": "Trust in nodes",
  },
  "What to expect": {
    "docs/reliability.md": "Reliability",
    "docs/performance.md": "Performance",
    "docs/scale.md": "Past one machine",
    "docs/threats.md": "Threats",
    "CHANGELOG.md": "Changelog",
  },
};

/** Files and folders of docs/ that are for contributors, and not in the guide. */
export const FOR_CONTRIBUTORS: readonly string[] = ["docs/decisions/", "docs/conformance.md", "docs/dependencies.md"];

/** Pages that link to a file below these have it published with them. */
export const EXAMPLES: readonly string[] = ["examples/", "deploy/"];

export interface GuidePage {
  /** From the root of the repository. */
  file: string;
  /** Below /docs/guide, without a slash at its front. */
  path: string;
  name: string;
  section: string;
}

export const PAGES: readonly GuidePage[] = Object.entries(TABLE).flatMap(([section, pages]) =>
  Object.entries(pages).map(([file, name]) => ({ file, path: pathOf(file), name, section })),
);

export const SECTIONS: ReadonlyMap<string, readonly GuidePage[]> = Map.groupBy(PAGES, ({ section }) => section);

/** docs/operators/nats.md → operators/nats; deploy/README.md → deploy; docs/README.md → the guide's own address. */
export function pathOf(file: string): string {
  if (!file.endsWith(".md")) return file;
  const path = file.replace(/^docs\//, "").replace(/(^|\/)README\.md$|\.md$/, "");
  return path === path.toUpperCase() ? path.toLowerCase() : path;
}
