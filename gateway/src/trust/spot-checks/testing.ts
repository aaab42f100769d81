/**
 * For tests and the simulator: answers of simulated models. Each position of a text has a few candidate tokens with
 * random logits, whose spread the prompt decides. A server samples from its own copy of these logits, to which noise is
 * added (hardware, quantization, a smaller model). The verifier's log probabilities come from its own copy.
 */
const CANDIDATES = 8;

export type UniformRandom = () => number;

/** A seeded generator: mulberry32. */
export function createSeededRandom(seed: number): UniformRandom {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Normally distributed numbers from a table, because a simulation needs a hundred million of them. */
const GAUSSIANS = Float64Array.from({ length: 1 << 14 }, tableOf(createSeededRandom(7)));
const gaussian = (u: UniformRandom): number => GAUSSIANS[(u() * GAUSSIANS.length) | 0] as number;

function tableOf(u: UniformRandom): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - u())) * Math.cos(2 * Math.PI * u());
}

/** How a simulated node produces an answer. */
export interface SimulatedServer {
  temperature: number;
  tokens: number;
  /**
   * Standard deviation of the server's logits around the true ones: 0.02 for other hardware, 0.15 for a good
   * quantization, 0.6 for a poor one, 2 for a smaller model.
   */
  noise: number;
  /** `model`: an honest answer. `junk`: unrelated words. `loop`: some words, then repetitions. */
  text?: "model" | "junk" | "loop";
}

/** A verifier's log probabilities for the answer's tokens, with noise of the verifier's own. */
export function simulateLogprobs(served: SimulatedServer, u: UniformRandom, verifierNoise = 0.02): number[] {
  const { temperature, tokens, noise, text = "model" } = served;
  const peak = 1.6 * (1.5 + 2.5 * u());
  const [own, verified] = [new Float64Array(CANDIDATES), new Float64Array(CANDIDATES)];
  return Array.from({ length: tokens }, (_, position) => {
    if (text === "loop" && position >= LOOP_AFTER) return -0.02;
    for (let i = 0; i < CANDIDATES; i++) {
      const logit = peak * gaussian(u);
      own[i] = logit + noise * gaussian(u);
      verified[i] = logit + verifierNoise * gaussian(u);
    }
    const chosen = text === "model" ? sample(own, temperature, u) : Math.floor(u() * CANDIDATES);
    return (verified[chosen] as number) - logSum(verified, 1);
  });
}

const LOOP_AFTER = 6;

function sample(logits: Float64Array, temperature: number, u: UniformRandom): number {
  if (temperature === 0) return logits.indexOf(Math.max(...logits));
  const log = logSum(logits, temperature);
  let left = u();
  for (let i = 0; i < logits.length; i++) {
    left -= Math.exp((logits[i] as number) / temperature - log);
    if (left <= 0) return i;
  }
  return logits.length - 1;
}

/**
 * The logarithm of the sum of the exponentials. The simulated logits are small, so this needs no guard against
 * overflow.
 */
function logSum(logits: Float64Array, temperature: number): number {
  let sum = 0;
  for (let i = 0; i < logits.length; i++) sum += Math.exp((logits[i] as number) / temperature);
  return Math.log(sum);
}
