/** Bugs to plant, one at a time. The simulator must notice each. */

interface Mutation {
  name: string;
  /** Path from the repository's root. */
  file: string;
  find: string;
  replace: string;
}

const LEDGER = "gateway/src/ledger/";
const DISPATCH = "gateway/src/dispatch/";
const INFERENCE = "gateway/src/inference/";
const LIMITS = "gateway/src/limits/";
const TRUST = "gateway/src/trust/";
const PAYMENTS = "gateway/src/payments/";

export const MUTATIONS: Mutation[] = [
  {
    name: "leases are not renewed",
    file: `${LEDGER}leases.ts`,
    find: "() => ledger.renew([...alive, ...ledger.unsettled()])",
    replace: "() => Promise.resolve()",
  },
  {
    name: "holds of dead gateways are not swept",
    file: `${LEDGER}leases.ts`,
    find: "    clock.every(holdLeaseMs / SWEEPS_PER_LEASE, sweeps.run),\n",
    replace: "",
  },
  {
    name: "a hold in doubt is not given back",
    file: `${LEDGER}ledger.ts`,
    find: "undo: ({ id }) => releases.doubtful(id)",
    replace: "undo: () => {}",
  },
  {
    name: "a hold that exceeds the balance is taken for held",
    file: `${LEDGER}hold.ts`,
    find: 'return { kind: "exceeds_balance", available };',
    replace: 'return { kind: "held" };',
  },
  {
    name: "a settlement that the store did not take is not tried again",
    file: `${LEDGER}settler.ts`,
    find: "if (pauses.areOver) throw error;",
    replace: "throw error;",
  },
  {
    name: "the spool keeps nothing",
    file: `${LEDGER}spool.ts`,
    find: "append: (settlement) => file.append(settlement.id, formatSettlementLine(settlement)),",
    replace: "append: async () => {},",
  },
  {
    name: "the spool is not synced",
    file: `${LEDGER}spool.ts`,
    find: "    await file.handle.datasync();\n    file.size",
    replace: "    file.size",
  },
  {
    name: "spools of dead gateways are not read",
    file: `${LEDGER}spool-replay.ts`,
    find: "for (const name of await disk.readdir(directory)) {",
    replace: "for (const name of [] as string[]) {",
  },
  {
    name: "late settlements are dropped",
    file: `${LEDGER}settling-tries.ts`,
    find: 'return outcome === "late" ? await this.#settleLate(settlement) : outcome;',
    replace: "return outcome;",
  },
  {
    name: "late settlements of a living gateway are dropped",
    file: `${LEDGER}settling-tries.ts`,
    find: '    if (outcome === "late") outcome = await this.#settleLate(settlement);\n',
    replace: "",
  },
  {
    name: "output costs the price of the prompt",
    file: `${LEDGER}request-costs.ts`,
    find: "computeCost(tokens.prompt, prices.in) + computeCost(tokens.output, prices.out)",
    replace: "computeCost(tokens.prompt, prices.in) + computeCost(tokens.output, prices.in)",
  },
  {
    name: "the hold has no room for output",
    file: `${LEDGER}request-costs.ts`,
    find: "pico(computeCost(tokens.prompt, prices.in) + computeCost(tokens.outputMax, prices.out))",
    replace: "pico(computeCost(tokens.prompt, prices.in))",
  },
  {
    name: "another node is tried after output reached the client",
    file: `${DISPATCH}attempt-state-machine.ts`,
    find: 'return request.reachedClient || request.retriesLeft === 0 ? "end" : "retry";',
    replace: 'return request.retriesLeft === 0 ? "end" : "retry";',
  },
  {
    name: "a delta without text is a sign of life",
    file: `${DISPATCH}attempt-frames.ts`,
    find: 'if (delta.text === "" && attempt.acceptedAt !== null) return;',
    replace: "",
  },
  {
    name: "a gap in a node's output is passed over",
    file: `${DISPATCH}attempt-frames.ts`,
    find: "if (seq === attempt.seq) {\n      attempt.seq += 1;",
    replace: "if (seq >= attempt.seq) {\n      attempt.seq = seq + 1;",
  },
  {
    name: "who left is worked for to the end",
    file: `${DISPATCH}attempt-runner.ts`,
    find: '      signal.addEventListener("abort", onAbort);\n',
    replace: "",
  },
  {
    name: "nodes are blamed for what the plane lost",
    file: `${DISPATCH}attempt-blame.ts`,
    find: 'if (by === "plane") applyEvent(attempt, "cut");\n      else ',
    replace: "",
  },
  {
    name: "what an attempt said stays when the next begins",
    file: `${INFERENCE}relay.ts`,
    find: "    this.#text.clear();\n",
    replace: "",
  },
  {
    name: "one more token than the cap",
    file: `${INFERENCE}admit.ts`,
    find: "Math.min(cap, model.contextLimit - promptTokens)",
    replace: "Math.min(cap + 1, model.contextLimit - promptTokens)",
  },
  {
    name: "an empty answer that nobody confirmed is billed",
    file: `${INFERENCE}request-endings.ts`,
    find: 'case "unconfirmed":\n      return { ...OK, ...FREE };',
    replace: 'case "unconfirmed":\n      return { ...OK, ...SHARED };',
  },
  {
    name: "a failure is paid",
    file: `${INFERENCE}request-endings.ts`,
    find: 'return { ...FAILED, billed: "all", share: "node_failed" };',
    replace: 'return { ...FAILED, billed: "all", share: "paid" };',
  },
  {
    name: "who breaks the protocol is paid",
    file: `${INFERENCE}request-endings.ts`,
    find: 'billed: reachedClient ? "delivered" : "nothing", share: "none" };',
    replace: 'billed: reachedClient ? "delivered" : "nothing", share: "paid" };',
  },
  {
    name: "silence without output is billed",
    file: `${INFERENCE}request-endings.ts`,
    find: "return hadOutput ? ",
    replace: "return hadOutput || accepted ? ",
  },
  {
    name: "who leaves pays nothing",
    file: `${INFERENCE}request-endings.ts`,
    find: "if (!accepted) return { ...CLOSED, ...FREE };",
    replace: "return { ...CLOSED, ...FREE };",
  },
  {
    name: "hosts are paid for what was free",
    file: `${INFERENCE}settle.ts`,
    find: 'paidHostId: share === "paid" ? host : null,',
    replace: "paidHostId: host,",
  },
  {
    name: "a key's slot is not given back",
    file: `${INFERENCE}serve.ts`,
    find: "    await waits.cleanup(pass.leave(done.tokens));\n",
    replace: "",
  },
  {
    name: "a model's place is not given back",
    file: `${INFERENCE}serve.ts`,
    find: "      await waits.cleanup(place.leave(0));\n",
    replace: "",
  },
  {
    name: "an answer is given before it is settled",
    file: `${INFERENCE}settle.ts`,
    find: "  await gw.ledger.secure({",
    replace: "  void gw.ledger.secure({",
  },
  {
    name: "requests in a minute are not limited",
    file: `${LIMITS}valkey-limits.ts`,
    find: "time(), id, requestsPerMinute, tokensPerMinute, inFlight];",
    replace: "time(), id, 1e9 + requestsPerMinute, tokensPerMinute, inFlight];",
  },
  {
    name: "slots in flight are not limited",
    file: `${LIMITS}valkey-limits.ts`,
    find: "time(), id, requestsPerMinute, tokensPerMinute, inFlight];",
    replace: "time(), id, requestsPerMinute, tokensPerMinute, 1e9 + inFlight];",
  },
  {
    name: "a revoked key is remembered",
    file: "gateway/src/keys/secret-store.ts",
    find: "broadcast.on(topic, forget);",
    replace: "",
  },
  {
    name: "failures are hardly counted",
    file: "gateway/src/base/node-trust-thresholds.ts",
    find: "QUARANTINE_FAILURES_MIN = 5",
    replace: "QUARANTINE_FAILURES_MIN = 50",
  },
  {
    name: "a refused prompt counts as the node's failure",
    file: `${TRUST}reliability.ts`,
    find: 'const harmless = this.#of(null) + this.#of("prompt");',
    replace: "const harmless = this.#of(null);",
  },
  {
    name: "half a delimiter is billed",
    file: `${INFERENCE}relay.ts`,
    find: "return this.#close({ isWhole: false });",
    replace: "return this.#close({ isWhole: true });",
  },
  {
    name: "stop strings are left to the engine",
    file: `${INFERENCE}relay.ts`,
    find: 'const cut = channel === "answer" ? this.#stops?.push(text) : undefined;',
    replace: "const cut = undefined as { text: string; stopped: boolean } | undefined;",
  },
  {
    name: "what may begin a stop string is lost at the end",
    file: `${INFERENCE}relay.ts`,
    find: '      if (this.#stops !== undefined) this.#write("answer", this.#stops.end());\n',
    replace: "",
  },
  {
    name: "thinking is not told from the answer",
    file: `${INFERENCE}relay.ts`,
    find: "for (const part of this.#splitter.push(text)) this.#pass(part.channel, part.text);",
    replace: 'this.#pass("answer", text);',
  },
  {
    name: "thinking costs nothing",
    file: `${INFERENCE}settle.ts`,
    find: "const output = counts.answerTokens + counts.reasoningTokens;",
    replace: "const output = counts.answerTokens;",
  },
  {
    name: "vectors that are owed are not asked for",
    file: `${INFERENCE}relay.ts`,
    find: 'if (this.embeddings.length < this.#options.vectorsDue) return "broken";',
    replace: "",
  },
  {
    name: "vectors of any width are taken",
    file: `${INFERENCE}relay.ts`,
    find: " && width === model.build.vector_width",
    replace: "",
  },
  {
    name: "vectors of an attempt stay when the next begins",
    file: `${INFERENCE}relay.ts`,
    find: "    this.#reasoning.clear();\n    this.embeddings = [];\n",
    replace: "    this.#reasoning.clear();\n",
  },
  {
    name: "output formats are asked of any node",
    file: `${DISPATCH}node-index.ts`,
    find: "(formatted ? this.#formatted : this.#plain)",
    replace: "(formatted ? this.#plain : this.#plain)",
  },
  {
    name: "a request costs what the catalogue says at its end",
    file: `${INFERENCE}settle.ts`,
    find: "computeChargeAmount(model.prices, used",
    replace: "computeChargeAmount((gw.catalogue().active.get(model.id) ?? model).prices, used",
  },
  {
    name: "tokens are not counted in the minute",
    file: `${INFERENCE}serve.ts`,
    find: "waits.cleanup(pass.leave(done.tokens));",
    replace: "waits.cleanup(pass.leave(0));",
  },
  {
    name: "who could not sign off at the limits' server does not try again",
    file: `${LIMITS}valkey-slot-returns.ts`,
    find: "if (!(await this.#attempt(pending))) this.#keep(pending);",
    replace: "await this.#attempt(pending);",
  },
  {
    name: "a slot in doubt is not given back",
    file: `${LIMITS}valkey-limits.ts`,
    find: "if (error instanceof LimitsUnavailable && error.maybeDone) departures.undo(undo);",
    replace: "",
  },
  {
    name: "the limits' server is not told what is in flight when it is back",
    file: `${LIMITS}valkey-limits.ts`,
    find: "back: () => renew(),",
    replace: "back: () => {},",
  },
  {
    name: "who counts alone lets everybody in",
    file: `${LIMITS}local-fallback.ts`,
    find: "limit === 0 ? 0 : Math.max(1, Math.floor(limit / Math.max(1, gateways())))",
    replace: "1_000",
  },
  {
    name: "wrong answers to canaries are passed over",
    file: `${TRUST}canary-evidence.ts`,
    find: "FALSE_ALARMS_PER_DAY = 1e-4",
    replace: "FALSE_ALARMS_PER_DAY = 1e-300",
  },
  {
    name: "who is new is trusted at once",
    file: "gateway/src/base/node-trust-thresholds.ts",
    find: "if (answers < probationAnswers) return 1;",
    replace: "",
  },
  {
    name: "the prompt of a completion costs nothing",
    file: "gateway/src/routes/openai/completions.ts",
    find: 'prompt: { kind: "text", text },',
    replace: 'prompt: { kind: "text", text: "" },',
  },
  {
    name: "news of a payment that come again are booked again",
    file: `${PAYMENTS}payment-rules.ts`,
    find: "amount: pico(should[kind] - made[kind]) }",
    replace: "amount: pico(should[kind] - 0n * made[kind]) }",
  },
  {
    name: "of two words on a refund the last that came counts",
    file: `${PAYMENTS}process-payment-events.ts`,
    find: "known === undefined ? told : chooseNewerReversal(known, told);",
    replace: "told;",
  },
  {
    name: "earnings are not held back",
    file: "gateway/src/operators/payouts.ts",
    find: "[id, note, by, minimum, holdDays]",
    replace: "[id, note, by, minimum, 0]",
  },
  {
    name: "a connection that is refused is taken for a bug of ours",
    file: "gateway/src/db/errors.ts",
    find: '"ECONNREFUSED", ',
    replace: "",
  },
  {
    name: "a server that shuts down is taken at its word that nothing was done",
    file: "gateway/src/db/errors.ts",
    find: "57P0[1-5]",
    replace: "57P0[2-5]",
  },
];
