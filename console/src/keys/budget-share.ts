/** The spent part of a budget in whole percent, rounded down, at most a hundred; a budget of zero is spent. */
export const budgetShare = (spent: bigint, budget: bigint): number =>
  spent >= budget ? 100 : Number((spent * 100n) / budget);
