/** What the guide consists of: its sections and their pages, in the order of the navigation, each made of one Markdown file. */

export interface GuidePage {
  /** From the root of the repository. */
  file: string;
  /** Below /docs/guide, without a slash at its front. */
  path: string;
  /** In the navigation. */
  name: string;
}

interface Section {
  name: string;
  pages: GuidePage[];
}

const page = (file: string, name: string): GuidePage => ({ file, path: pathOf(file), name });

/** What is for those who change the sources stays with them: decisions, conformance, dependencies. */
export const SECTIONS: readonly Section[] = [
  { name: "Guide", pages: [page("docs/README.md", "Where to begin"), page("docs/console.md", "The console")] },
  { name: "Builders", pages: [page("docs/builders.md", "For builders"), page("docs/clients.md", "Clients, driven")] },
  { name: "Hosts", pages: [page("docs/hosts.md", "For hosts"), page("docs/engines.md", "Engines")] },
  {
    name: "Operators",
    pages: [
      page("docs/operators/quickstart.md", "Quick start"),
      page("docs/operators/several-gateways.md", "Several gateways"),
      page("docs/operators/high-availability.md", "High availability"),
      page("docs/operators/upgrades.md", "Upgrades"),
      page("docs/operators/backup.md", "Backup and restore"),
      page("deploy/README.md", "Deploying"),
      page("docs/operators/runbook.md", "Runbook"),
      page("docs/operators/settings.md", "Settings"),
      page("docs/operators/monitoring.md", "Monitoring"),
      page("docs/operators/failures.md", "When a part fails"),
      page("docs/operators/capacity.md", "Capacity"),
      page("docs/operators/nats.md", "NATS"),
      page("docs/operators/sign-in.md", "Sign-in"),
      page("docs/operators/secrets.md", "Secrets"),
      page("docs/operators/retention.md", "Retention"),
      page("docs/operators/admin.md", "Administration"),
      page("docs/operators/payments.md", "Prices, payments, payouts"),
      page("docs/operators/trust.md", "Trust in nodes"),
    ],
  },
  {
    name: "What to expect",
    pages: [page("docs/performance.md", "Performance"), page("docs/threats.md", "Threats")],
  },
];

export const PAGES: readonly GuidePage[] = SECTIONS.flatMap(({ pages }) => pages);

/** docs/operators/nats.md → operators/nats; deploy/README.md → deploy; docs/README.md → the guide's own address. */
function pathOf(file: string): string {
  return file.replace(/^docs\//, "").replace(/(^|\/)README\.md$|\.md$/, "");
}
