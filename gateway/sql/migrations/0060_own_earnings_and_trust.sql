-- phase: after
-- Payout lines state what the host's own owners paid, and which of the withheld shares are new. Counts of judged answers leave out traps.

-- `own`: of the earnings that became old enough to be paid since the host's previous payout, the part from requests of its own owners.
-- `newly_withheld`: the part of `withheld` that was withheld since the host's previous line.
alter table payout add column own bigint not null default 0, add column newly_withheld bigint not null default 0;

-- Past lines, as if the hold-back period had always been the default of seven days.
update payout p set
       own = case when p.amount > 0 or p.set_off > 0 then coalesce((
               select sum(e.own_pico) from earning_hour e
                where e.host_account_id = p.account_id and e.own_pico > 0 and e.hour <= line.at - interval '169 hours'
                  and (line.paid_before is null or e.hour > line.paid_before - interval '169 hours')), 0) else 0 end,
       newly_withheld = coalesce((
               select sum(w.amount_pico) from withheld_share w
                where w.host_account_id = p.account_id and w.at <= line.at and (line.before is null or w.at > line.before)
                  and (w.released_at is null or w.released_at > line.at)), 0)
  from (select l.id, b.created_at as at, max(b.created_at) over earlier as before,
               max(b.created_at) filter (where l.amount > 0 or l.set_off > 0) over earlier as paid_before
          from payout l join payout_batch b on b.id = l.batch_id
        window earlier as (partition by l.account_id order by b.created_at, b.id rows between unbounded preceding and 1 preceding)) line
 where line.id = p.id;

-- `checked` counts the answers that a verifier judged, of this model only. It counted traps and checks without a judgement too, and
-- migration 0055 gave one model the checks of all. What the checks that are kept do not show, the node proves again.
update spot_check_test t set checked = (
  select count(*) from spot_check c
   where c.node_id = t.node_id and c.model = t.model and c.verdict not in ('unjudged', 'sample', 'trap_seen', 'trap_missed'));

-- Whether each of a host's latest opinions as a verifier was wrong, oldest first, where that could be verified.
create table spot_check_verifier (
  host_id uuid primary key references account (id),
  errors  boolean[] not null
);

-- functions: b257b4621ca43b668aeb060c639f8ff231d196336c78e3f813698de74ac33b3f
