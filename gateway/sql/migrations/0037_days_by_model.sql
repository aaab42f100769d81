-- phase: after
-- Performance of days that are over by model, in the form that performance_all has of all models together: to make the server's form of a
-- histogram out of an array takes longer than all the rest of reading it. Written when a day is closed (history_close_performance).
create table performance_day (
  scope             text not null,
  subject           uuid not null,
  slot              timestamptz not null,
  key_id            uuid not null,
  model             text not null,
  requests          bigint not null,
  ok                bigint not null,
  closed            bigint not null,
  failed            bigint not null,
  prompt_tokens     bigint not null,
  completion_tokens bigint not null,
  flow_tokens       bigint not null,
  flow_ms           bigint not null,
  busy_ms           bigint not null,
  ttft              bytea not null,
  duration          bytea not null,
  primary key (scope, subject, slot, key_id, model)
);
create index performance_day_slot on performance_day (slot);

-- Days that are closed have none of it yet: they are closed again, and read from their own rows until then.
delete from closed_day where what = 'performance';

-- functions: 3e19d1359de55dea00452f68a3850e123b983b306769913530baac087db27227
