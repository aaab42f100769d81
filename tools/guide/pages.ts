/** The guide's sections and pages. To add a page, add a line to the table. */

/**
 * The sections in the order of the navigation. Each page has its file, by its path from the repository's root, and its
 * name in the navigation.
 */
const TABLE: Record<string, Record<string, string>> = {
  Begin: {
    "docs/README.md": "All guides",
    "docs/start.md": "Start",
    "docs/concepts.md": "Concepts",
    "docs/console.md": "The console",
    "docs/notifications.md": "Notifications",
  },
  Builders: {
    "docs/builders/quickstart.md": "Quick start",
    "docs/builders/streaming.md": "Streaming",
    "docs/builders/structured-output.md": "Structured output",
    "docs/builders/reasoning.md": "Reasoning",
    "docs/builders/embeddings.md": "Embeddings",
    "docs/builders/errors.md": "Errors",
    "docs/builders/limits-and-budgets.md": "Limits and budgets",
    "docs/billing.md": "Billing",
  },
  Clients: {
    "docs/builders/clients/README.md": "All clients",
    "docs/builders/clients/openai-node.md": "openai for Node",
    "docs/builders/clients/openai-python.md": "openai for Python",
    "docs/builders/clients/openai-go.md": "openai-go",
    "docs/builders/clients/openai-java.md": "openai-java",
    "docs/builders/clients/ai-sdk.md": "Vercel AI SDK",
    "docs/builders/clients/langchain.md": "LangChain",
    "docs/builders/clients/llamaindex.md": "LlamaIndex",
    "docs/builders/clients/litellm.md": "LiteLLM",
    "docs/builders/clients/open-webui.md": "Open WebUI",
    "docs/builders/clients/continue.md": "Continue",
    "docs/builders/clients/aider.md": "aider",
    "docs/builders/clients/pydantic-ai.md": "pydantic-ai",
    "docs/builders/clients/instructor.md": "instructor",
    "docs/builders/clients/openai-agents.md": "OpenAI Agents SDK",
    "docs/builders/clients/langchain4j.md": "LangChain4j",
    "docs/builders/clients/langchaingo.md": "langchaingo",
    "docs/builders/clients/other.md": "Other clients",
    "examples/README.md": "Examples",
  },
  Migrate: {
    "docs/migrate/openai.md": "From OpenAI",
    "docs/migrate/litellm.md": "From LiteLLM",
    "docs/migrate/openrouter.md": "From OpenRouter",
  },
  Hosts: {
    "docs/hosts/quickstart.md": "Quick start",
    "docs/hosts/engines.md": "Engines",
    "docs/hosts/service.md": "Run as a service",
    "docs/hosts/earnings.md": "Earnings",
    "docs/hosts/trust.md": "Trust and security",
    "docs/hosts/troubleshooting.md": "Troubleshooting",
  },
  Operators: {
    "docs/operators/quickstart.md": "Quick start",
    "docs/operators/several-gateways.md": "Several gateways",
    "docs/operators/high-availability.md": "High availability",
    "docs/operators/upgrades.md": "Upgrades",
    "docs/operators/backup.md": "Backup and restore",
    "deploy/README.md": "Deploying",
    "docs/operators/runbook.md": "Runbook",
    "docs/operators/settings.md": "Settings",
    "docs/operators/monitoring.md": "Monitoring",
    "docs/operators/failures.md": "When a part fails",
    "docs/operators/capacity.md": "Capacity",
    "docs/scale.md": "Scale",
    "docs/operators/nats.md": "NATS",
    "docs/operators/sign-in.md": "Sign-in",
    "docs/operators/secrets.md": "Secrets",
    "docs/operators/retention.md": "Retention",
    "docs/operators/admin.md": "Administration",
    "docs/operators/payments.md": "Prices, payments, payouts",
    "docs/operators/trust.md": "Trust in nodes",
  },
  "What to expect": {
    "docs/faq.md": "FAQ",
    "docs/compare.md": "Compare",
    "docs/versioning.md": "Versioning",
    "docs/threats.md": "Threats",
    "CHANGELOG.md": "Changelog",
  },
};

/** Files and folders of docs/ that are for contributors and not part of the guide. */
export const CONTRIBUTOR_FOLDERS: readonly string[] = ["docs/decisions/"];

/** The folders whose files are published if a page links to them. */
export const EXAMPLE_FOLDERS: readonly string[] = ["examples/", "deploy/"];

export interface GuidePage {
  /** The path from the root of the repository. */
  file: string;
  /** The page's path below /docs/guide, without a slash at the beginning. */
  path: string;
  name: string;
  section: string;
}

export const PAGES: readonly GuidePage[] = Object.entries(TABLE).flatMap(([section, pages]) =>
  Object.entries(pages).map(([file, name]) => ({ file, path: findGuidePath(file), name, section })),
);

export const SECTIONS: ReadonlyMap<string, readonly GuidePage[]> = Map.groupBy(PAGES, ({ section }) => section);

/**
 * Converts a file's path to its path in the guide. Examples: docs/operators/nats.md → operators/nats; deploy/README.md
 * → deploy; docs/README.md → the guide's own address.
 */
export function findGuidePath(file: string): string {
  if (!file.endsWith(".md")) return file;
  const path = file.replace(/^docs\//, "").replace(/(^|\/)README\.md$|\.md$/, "");
  return path === path.toUpperCase() ? path.toLowerCase() : path;
}
