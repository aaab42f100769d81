/**
 * Checks the charge and the payee of each ended request. Implements the rules of charging (docs/billing.md) a second
 * time, from what clients received and what nodes did, without code of the gateway.
 */
import { computePrices, EMBEDDING_MODEL, VECTOR_WIDTH } from "../actors/catalogue.ts";
import type { ClientObservation } from "../actors/client.ts";
import type { SimulatedJob } from "../actors/simulated-job.ts";
import { countWords, cutAtStopString } from "../world/one-token-words.ts";
import type { RequestRecord } from "../world/store/ledger-model.ts";

/** The data about a finished request that the rules need. */
interface Case {
  sight: ClientObservation;
  record: RequestRecord;
  promptTokens: number;
  /** Every job that nodes ran for the request, in order. */
  jobs: SimulatedJob[];
  /** The jobs of the request that the node in the record ran. */
  served: SimulatedJob[];
  /** The host that owns that node. */
  host: string | null;
}

/** The minimum and maximum number of output tokens that may be billed, and what becomes of the host's share. */
interface Bill {
  least: number;
  most: number;
  share: Share;
}

/**
 * Who gets the host's share: the host, the reserve, or no one. `either`: the host or the reserve, depending on the
 * order of events.
 */
type Share = "paid" | "withheld" | "none" | "either";

const FREE = "free";

/** Describes what is wrong with the charge; undefined when the charge is correct. */
export function describeWrongCharge(known: Case): string | undefined {
  const { record, promptTokens, host } = known;
  const bill = billOf(known);
  if (typeof bill === "string" && bill !== FREE) return bill;
  const asked = record.charge + record.short;
  const prices = computePrices(record.model, record.priceVersion);
  if (record.promptTokens !== promptTokens) return `the prompt has ${promptTokens} tokens, not ${record.promptTokens}`;
  if (bill === FREE) {
    if (asked !== 0n) return `${record.outcome} costs nothing here, and ${asked} was charged`;
    if (record.withheld !== null) return "a share of nothing was withheld";
    return record.host === null || record.share === 0n ? undefined : "a host was paid for what was free";
  }
  const { least, most, share } = bill as Bill;
  const tokens = record.completionTokens;
  if (tokens < least || tokens > most) return `${tokens} tokens of output billed, between ${least} and ${most} are due`;
  const due = BigInt(promptTokens) * prices.in + BigInt(tokens) * prices.out;
  if (asked !== due) return `${asked} was charged for ${tokens} tokens, ${due} is due`;
  const found = { paid: record.host, withheld: record.withheld?.host ?? null };
  if (found.paid !== null && found.withheld !== null) return `the share of ${record.outcome} was paid and withheld`;
  const whose = share === "either" ? (found.paid ?? found.withheld) : share === "none" ? null : found[share];
  if (share !== "none" && whose !== host) return `the share is ${host}'s (${share}), and not ${whose}'s`;
  if ((share === "withheld" || share === "none") && found.paid !== null)
    return `${record.outcome} pays no host here, and ${found.paid} was paid`;
  if ((share === "paid" || share === "none") && found.withheld !== null)
    return `${record.outcome} withholds nothing here, and ${found.withheld} has a share withheld`;
  return undefined;
}

/** Returns how many words of a job's output can be billed: thinking, and the answer up to its stop string. */
const outputOf = ({ thought, said }: SimulatedJob, { ask }: ClientObservation): number =>
  countWords(thought) + countWords(cutAtStopString(said, ask.stop));

function billOf(known: Case): Bill | typeof FREE | string {
  const { sight, record, jobs, served } = known;
  if (sight.ask.model === EMBEDDING_MODEL) return embeddingBill(known);
  const cap = sight.ask.maxTokens;
  const delivered = sight.ask.stream ? countWords(sight.text) : 0;
  const last = served.findLast(({ accepted }) => accepted);
  if (served.some(({ isCountable }) => !isCountable)) return uncountableBill(known);
  const said = Math.min(cap, last === undefined ? 0 : outputOf(last, sight));
  // Does not count thinking, because a client receives it only with a complete answer.
  const answered = Math.min(cap, last === undefined ? 0 : countWords(cutAtStopString(last.said, sight.ask.stop)));
  const isFailure = served.some(({ end }) => end === "failed");
  switch (record.outcome) {
    case "ok":
      return okBill(known, { said, cap });
    case "no_capacity":
    case "gateway_lost":
      return FREE;
    case "upstream_failed":
      if (last === undefined) return "it failed upstream, and no node had accepted it";
      // A request is free if no grammar can be built from its output format. From outside, that looks like any failure
      // of such a request.
      if (isFailure && last.isFormatted && last.thought + last.said === "" && record.charge === 0n) return FREE;
      // The node reported a failure or broke the protocol.
      if (isFailure) return { least: said, most: said, share: "withheld" };
      return delivered > 0 ? { least: delivered, most: answered, share: "none" } : partlySeen(known, answered, "none");
    case "upstream_stall":
      return said === 0 || record.completionTokens === 0
        ? FREE
        : { least: Math.max(1, delivered), most: said, share: "withheld" };
    case "plane_lost":
    case "gateway_stopped":
      return delivered > 0 ? { least: delivered, most: answered, share: "paid" } : partlySeen(known, answered, "paid");
    case "client_closed":
      if (sight.end !== "left") return `the client had not left: ${sight.end}`;
      if (!jobs.some(({ accepted }) => accepted)) return FREE;
      // The node may have accepted the job at the moment when its client left.
      if (record.charge === 0n && record.node === null) return FREE;
      return { least: delivered, most: said, share: mayHaveBeenTooSlow(known) ? "either" : "paid" };
    default:
      return `${record.outcome} is no ending`;
  }
}

/**
 * Whether the client may have left because the node was slow: before any output, or after 3 s of output with less than
 * 2 tokens a second. The share is then withheld if other nodes are faster.
 */
function mayHaveBeenTooSlow({ sight, record }: Case): boolean {
  const { leavesMs } = sight.ask;
  const tokens = record.completionTokens;
  return tokens === 0 || (leavesMs !== null && leavesMs >= Math.max(3_000, (tokens - 1) * 500));
}

/**
 * Returns the bill if the client lost its connection, and so did not receive everything that was sent. The billed
 * output may be anything between nothing and everything that the node sent.
 */
function partlySeen({ sight, record }: Case, said: number, share: Share): Bill | typeof FREE {
  const sawLess = sight.end === "connection lost" || sight.end === "left";
  if (!sawLess || !sight.ask.stream || record.charge + record.short === 0n) return FREE;
  return { least: 1, most: said, share };
}

function okBill({ sight, record, jobs, served }: Case, { said, cap }: { said: number; cap: number }): Bill | string {
  if (served.every(({ accepted }) => !accepted)) return "it was answered, and no node had accepted it";
  if (sight.end === "answered") {
    const { usage } = sight;
    const toldThought = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
    // A completion does not return its thinking to the client, so only the jobs that nodes ran show how much thinking
    // there was.
    const isHidden = sight.ask.endpoint === "completion";
    const thought = isHidden ? toldThought : countWords(sight.reasoning);
    const read = thought + countWords(sight.text);
    if (usage?.completion_tokens !== read) return `usage tells ${usage?.completion_tokens} tokens of ${read}`;
    if (toldThought !== thought) return `usage tells ${toldThought} tokens of thinking`;
    if (isHidden && !served.some((job) => Math.min(cap, countWords(job.thought)) === thought))
      return `usage tells ${toldThought} tokens of thinking, which no node had`;
    if (read > cap) return `${read} tokens for a cap of ${cap}`;
    const whole = served.some((job) => isComplete(job, sight) && outputOf(job, sight) === read);
    if (!whole && read !== cap) return `${read} words read are neither all that a node said nor the cap ${cap}`;
    if (read > 0) return { least: read, most: read, share: "paid" };
    const blanks = jobs.filter((job) => isComplete(job, sight) && outputOf(job, sight) === 0).length;
    if (blanks === 0) return "an empty answer, and no node had given one";
    // The prompt is billed if two nodes returned empty answers, or if one answer began with a stop string. A single
    // empty answer costs nothing.
    const isStopped = served.some(({ said }) => said !== "" && countWords(cutAtStopString(said, sight.ask.stop)) === 0);
    if (record.charge + record.short === 0n) return isStopped ? "an answer that a stop string ended was free" : FREE;
    return blanks >= 2 || isStopped ? { least: 0, most: 0, share: "paid" } : "one empty answer was billed";
  }
  if (record.completionTokens === 0 && record.charge + record.short === 0n) return FREE;
  return { least: 0, most: said, share: "paid" };
}

/** Whether the node sent its whole answer, or a stop string, after which no output counts. */
const isComplete = ({ end, said }: SimulatedJob, { ask }: ClientObservation): boolean =>
  end === "done" || cutAtStopString(said, ask.stop) !== said;

/**
 * Returns the bill for a node that sent long runs of spaces. The simulator counts words, so it does not know how many
 * tokens these are. It accepts any number of billed tokens up to the request's output cap.
 */
function uncountableBill({ sight, record }: Case): Bill | typeof FREE {
  if (record.charge + record.short === 0n) return FREE;
  const share = record.host !== null ? "paid" : record.withheld !== null ? "withheld" : "none";
  return { least: 0, most: sight.ask.maxTokens, share };
}

/**
 * Returns the bill of an embedding. Its only billable input is its texts: either the full prompt is billed, or nothing.
 */
function embeddingBill({ sight, record, jobs, served }: Case): Bill | typeof FREE | string {
  const isFree = record.charge + record.short === 0n;
  const paid = { least: 0, most: 0, share: "paid" } as const;
  const hadOutput = served.some(({ vectors }) => vectors.length > 0);
  // The attempt that failed. It is billed without the output of an earlier attempt that the plane lost.
  const failed = served.findLast(({ end }) => end === "failed");
  switch (record.outcome) {
    case "ok":
      if (sight.end === "answered" && !served.some((job) => areSame(job.vectors, sight.vectors)))
        return "the vectors are not those that a node sent";
      if (sight.vectors.some(({ length }) => length !== VECTOR_WIDTH))
        return `a vector has not ${VECTOR_WIDTH} numbers`;
      return sight.end === "answered" && sight.vectors.length !== sight.ask.texts
        ? `${sight.vectors.length} vectors for ${sight.ask.texts} texts`
        : paid;
    case "upstream_failed":
      return failed === undefined ? FREE : { ...paid, share: "withheld" };
    case "upstream_stall":
      return hadOutput && !isFree ? { ...paid, share: "withheld" } : FREE;
    case "client_closed":
      if (sight.end !== "left") return `the client had not left: ${sight.end}`;
      return jobs.some(({ accepted }) => accepted) && !(isFree && record.node === null)
        ? { ...paid, share: "either" }
        : FREE;
    case "plane_lost":
    case "gateway_stopped":
    case "no_capacity":
    case "gateway_lost":
      return FREE;
    default:
      return `${record.outcome} is no ending`;
  }
}

const areSame = (sent: Float32Array[], read: number[][]): boolean =>
  sent.length === read.length && sent.every((vector, i) => vector.every((value, j) => value === read[i]?.[j]));
