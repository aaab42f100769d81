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

/** What is for those who change the sources stays with them: decisions. */
export const SECTIONS: readonly Section[] = [
  {
    name: "Begin",
    pages: [
      page("docs/README.md", "All guides"),
      page("docs/start.md", "Start"),
      page("docs/concepts.md", "Concepts"),
      page("docs/console.md", "The console"),
    ],
  },
  {
    name: "Builders",
    pages: [
      page("docs/builders/quickstart.md", "Quick start"),
      page("docs/builders/streaming.md", "Streaming"),
      page("docs/builders/structured-output.md", "Structured output"),
      page("docs/builders/reasoning.md", "Reasoning"),
      page("docs/builders/embeddings.md", "Embeddings"),
      page("docs/builders/errors.md", "Errors"),
      page("docs/builders/limits-and-budgets.md", "Limits and budgets"),
      page("docs/billing.md", "Billing"),
    ],
  },
  {
    name: "Clients",
    pages: [
      page("docs/builders/clients/README.md", "All clients"),
      page("docs/builders/clients/openai-node.md", "openai for Node"),
      page("docs/builders/clients/openai-python.md", "openai for Python"),
      page("docs/builders/clients/openai-go.md", "openai-go"),
      page("docs/builders/clients/openai-java.md", "openai-java"),
      page("docs/builders/clients/ai-sdk.md", "Vercel AI SDK"),
      page("docs/builders/clients/langchain.md", "LangChain"),
      page("docs/builders/clients/llamaindex.md", "LlamaIndex"),
      page("docs/builders/clients/litellm.md", "LiteLLM"),
      page("docs/builders/clients/open-webui.md", "Open WebUI"),
      page("docs/builders/clients/continue.md", "Continue"),
      page("docs/builders/clients/aider.md", "aider"),
      page("docs/builders/clients/pydantic-ai.md", "pydantic-ai"),
      page("docs/builders/clients/instructor.md", "instructor"),
      page("docs/builders/clients/openai-agents.md", "OpenAI Agents SDK"),
      page("docs/builders/clients/langchain4j.md", "LangChain4j"),
      page("docs/builders/clients/langchaingo.md", "langchaingo"),
      page("docs/builders/clients/other.md", "Other clients"),
    ],
  },
  {
    name: "Migrate",
    pages: [
      page("docs/migrate/openai.md", "From OpenAI"),
      page("docs/migrate/litellm.md", "From LiteLLM"),
      page("docs/migrate/openrouter.md", "From OpenRouter"),
    ],
  },
  {
    name: "Hosts",
    pages: [
      page("docs/hosts/quickstart.md", "Quick start"),
      page("docs/hosts/engines.md", "Engines"),
      page("docs/hosts/service.md", "Run as a service"),
      page("docs/hosts/earnings.md", "Earnings"),
      page("docs/hosts/trust.md", "Trust and security"),
      page("docs/hosts/troubleshooting.md", "Troubleshooting"),
    ],
  },
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
    pages: [
      page("docs/faq.md", "FAQ"),
      page("docs/compare.md", "Compare"),
      page("docs/versioning.md", "Versioning"),
      page("docs/threats.md", "Threats"),
    ],
  },
];

export const PAGES: readonly GuidePage[] = SECTIONS.flatMap(({ pages }) => pages);

/** docs/operators/nats.md → operators/nats; deploy/README.md → deploy; docs/README.md → the guide's own address. */
function pathOf(file: string): string {
  return file.replace(/^docs\//, "").replace(/(^|\/)README\.md$|\.md$/, "");
}
