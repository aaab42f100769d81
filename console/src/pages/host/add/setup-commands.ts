/** The commands that turn a machine into a node, as in the guide for hosts. Pure. */
export type EngineChoice = "found" | "file" | "demo";

export const ENGINE_CHOICES: { value: EngineChoice; label: string; says: string }[] = [
  {
    value: "found",
    label: "Installed engine",
    says: "The command detects Ollama, llama-server, LM Studio, vLLM and MLX, and suggests installed models that fit in memory and use the gateway's tokenizer.",
  },
  {
    value: "file",
    label: "GGUF file",
    says: "llama.cpp runs inside the agent, with Metal on a Mac and on the CPU elsewhere. Replace FILE.gguf with your file.",
  },
  {
    value: "demo",
    label: "Demo model",
    says: "A small demo model, for evaluation only. It fails the platform's canary requests (test prompts with known answers), so the node is quarantined after a while.",
  },
];

const ELECT: Record<EngineChoice, string> = {
  found: "tollgate-host elect",
  file: "tollgate-host elect --model FILE.gguf --as tiny-3b",
  demo: "tollgate-host elect --engine demo --models tiny-3b",
};

interface SetupChoices {
  gateway: string;
  name: string;
  engine: EngineChoice;
  /** The host token's secret, as long as the page has it in memory. */
  secret?: string | undefined;
}

export const buildSetupCommands = ({ gateway, name, engine, secret }: SetupChoices) => ({
  /** All steps as one line to paste. */
  whole: [
    `${secret === undefined ? "" : `TOLLGATE_HOST_TOKEN=${secret} `}tollgate-host login --gateway ${gateway}`,
    `tollgate-host register --name ${quoteShellWord(name)}`,
    `${ELECT[engine]}${engine === "found" ? " --yes" : ""}`,
    "tollgate-host up",
  ].join(" && "),
  login: `tollgate-host login --gateway ${gateway}`,
  register: `tollgate-host register --name ${quoteShellWord(name)}`,
  elect: ELECT[engine],
  doctor: "tollgate-host doctor",
  up: "tollgate-host up",
  service: "tollgate-host service install",
});

/** Quotes text as one shell word. */
export function quoteShellWord(text: string): string {
  if (text === "") return "garage";
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
