/** The spent part of a budget in whole percent, rounded down and at most 100. A budget of zero counts as spent. */
export const computeBudgetUsedPercent = (spent: bigint, budget: bigint): number =>
  spent >= budget ? 100 : Number((spent * 100n) / budget);
