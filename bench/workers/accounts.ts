/**
 * Opens the accounts whose keys the load uses, and marks the nodes as trusted, so that they may serve these accounts.
 */
import { HIGH_KEY_LIMITS, makeKey, openBuilderAccount } from "@tollgate/stage/builder-and-host-accounts.ts";
import type { Query } from "@tollgate/stage/stage-database.ts";
import type { TargetAddress } from "../gateway/load.ts";

const CREDIT = 1_000_000_000_000_000_000n;
const TRAITS = { requests: 100_000_000, tokens: 1_000_000_000_000, inFlight: 100_000 };

/**
 * Records many spot-checked answers for each node when it is registered. The bench's keys opt out of spot checks,
 * because light nodes cannot verify answers, and only nodes with many checked answers may serve such keys. A trigger
 * writes this record together with the node's row, because a gateway may read it right after the registration.
 */
const knownNodes = (model: string): string => `
  create function bench_known() returns trigger language plpgsql as $$ begin
    insert into spot_check_test (node_id, model, evidence, confirmed, watch, answers, checked)
      values (new.id, '${model}', array_fill(0::float8, array[12]), 0, 0, 100000, 5000);
    return new;
  end $$;
  create trigger bench_known after insert on node for each row execute function bench_known()`;

export async function openAccounts(
  query: Query,
  { port, model, count }: { port: number; model: string; count: number },
): Promise<TargetAddress[]> {
  const addresses: TargetAddress[] = [];
  for (let i = 0; i < count; i++) {
    const { token } = await makeKey(query, await openBuilderAccount(query, CREDIT), { ...HIGH_KEY_LIMITS, ...TRAITS });
    const models = { chat: model, embedding: model };
    addresses.push({ port, models, headers: { authorization: `Bearer ${token}` } });
  }
  await query("update api_key set spot_checks = false");
  await query(knownNodes(model));
  return addresses;
}
