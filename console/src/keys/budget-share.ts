/** What is spent of a budget, in whole percent and never above a hundred; a budget of nothing is spent. Rounded down. */
export const budgetShare = (spent: bigint, budget: bigint): number =>
  spent >= budget ? 100 : Number((spent * 100n) / budget);
