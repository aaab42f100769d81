-- phase: after
-- What the rollup job counts is added as rows of its own and merged into `performance` every few minutes (history_merge_performance). To
-- merge it at once rewrites the histograms of every row that a run touches, which cost three quarters of the job.

-- Counts of one run, in slots of five minutes. Rows of a key are in here as often as runs counted something for it.
create table performance_part (
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
  ttft              bigint[] not null,
  duration          bigint[] not null
);
create index performance_part_series on performance_part (scope, subject, key_id, model, slot);

-- What readers read: the rows of `performance`, and parts as rows of each grain.
create view performance_with_parts as
select scope, subject, grain, slot, key_id, model, requests, ok, closed, failed, prompt_tokens, completion_tokens, flow_tokens, flow_ms,
       busy_ms, ttft, duration
  from performance
union all
select p.scope, p.subject, g.grain, date_bin(g.length, p.slot, timestamptz '2000-01-01 00:00Z'), p.key_id, p.model, p.requests, p.ok,
       p.closed, p.failed, p.prompt_tokens, p.completion_tokens, p.flow_tokens, p.flow_ms, p.busy_ms, p.ttft, p.duration
  from performance_part p
 cross join (values ('5min', interval '5 minutes'), ('hour', interval '1 hour'), ('day', interval '1 day')) as g (grain, length);

-- functions: f2864fc61dd82b53408d2a3fc39626c8aa0c04bfb8a264f7d56d59115aee0d23
