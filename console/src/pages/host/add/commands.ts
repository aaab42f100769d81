/** The commands that make a machine a node, as the guide for hosts has them. Pure. */
export type EngineChoice = "found" | "file" | "demo";

export const ENGINES: { value: EngineChoice; label: string; says: string }[] = [
  {
    value: "found",
    label: "My engine",
    says: "Ollama, llama-server, LM Studio, vLLM and MLX are found by themselves. It proposes what they hold, what fits into memory, and what counts tokens as the gateway does.",
  },
  {
    value: "file",
    label: "A GGUF file",
    says: "llama.cpp runs inside the program: on Metal on a Mac, else on the processor. Put your file in place of FILE.gguf.",
  },
  {
    value: "demo",
    label: "Just try it",
    says: "A small demo model stands in. It is for trying things out: it fails the platform's test questions, and the node is quarantined in time.",
  },
];

const ELECT: Record<EngineChoice, string> = {
  found: "tollgate-host elect",
  file: "tollgate-host elect --model FILE.gguf --as tiny-3b",
  demo: "tollgate-host elect --engine demo --models tiny-3b",
};

export const commandsFor = (gateway: string, name: string, engine: EngineChoice) => ({
  login: `tollgate-host login --gateway ${gateway}`,
  register: `tollgate-host register --name ${shellWord(name)}`,
  elect: ELECT[engine],
  doctor: "tollgate-host doctor",
  up: "tollgate-host up",
  service: "tollgate-host service install",
});

/** As a shell takes it for one word. */
export function shellWord(text: string): string {
  if (text === "") return "garage";
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
