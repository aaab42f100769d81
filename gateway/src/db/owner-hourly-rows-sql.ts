/**
 * SQL for the hours of one owner (`$1`) between two moments. Comparing owner and hour together, as a row, makes the
 * planner use the index on both columns. Otherwise it often reads all owners' hours.
 */
export const buildOwnerHourlyRowsSql = (owner: string, from: string, to: string): string =>
  `${owner} = $1 and (${owner}, hour) >= ($1::uuid, ${from}) and (${owner}, hour) < ($1::uuid, ${to})`;
