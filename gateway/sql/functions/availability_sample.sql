-- Records whether a gateway has a node for each model, in the time slot of `p_at` (null: now). A slot is `p_every_s` seconds long, and an
-- hour is a multiple of it. The first call in a slot also counts earlier slots without samples as down, for the models of the last sampled
-- slot, and judges the complete slots (incident_judge). Returns true for the first call in a slot.
-- Guarantees: a model has one sample per slot, however many gateways call this and however often; it is up if one of them saw it up;
-- skipped slots of the last 100 days are counted.

create or replace function availability_sample(
  p_at timestamptz, p_every_s integer, p_models text[], p_up boolean[], p_slots integer[], p_busy integer[]
) returns boolean language plpgsql
set jit = off as $$
declare
  origin constant timestamptz := timestamptz '2000-01-01 00:00Z';
  every constant interval := make_interval(secs => p_every_s);
  this constant timestamptz := date_bin(every, coalesce(p_at, clock_timestamp()), origin);
  this_hour constant timestamptz := date_bin('1 hour', this, origin);
  missed_from timestamptz;
  previous timestamptz;
  is_first boolean;
begin
  select slot into previous from availability_turn for update;
  -- The clock was set back: recorded samples stay.
  if previous > this then
    return false;
  end if;
  is_first := previous is null or previous < this;
  if is_first then
    missed_from := greatest(previous + every, this - interval '100 days');
    insert into model_hour as h (model, hour, samples, up, slots, busy)
    select m.model, hour, extract(epoch from least(this, hour + interval '1 hour') - greatest(missed_from, hour)) / p_every_s,
           0, 0, 0
      from model_minute m, generate_series(date_bin('1 hour', missed_from, origin), this, '1 hour') as hour
     where m.slot = previous and greatest(missed_from, hour) < this
    on conflict (model, hour) do update set samples = h.samples + excluded.samples;
    if previous is not null then
      perform incident_judge(previous, this, every);
    end if;
    update availability_turn set slot = this;
  end if;

  with found as (
    update model_minute m set up = true, slots = s.slots, busy = s.busy
      from unnest(p_models, p_up, p_slots, p_busy) as s (model, up, slots, busy)
     where m.slot = this and m.model = s.model and s.up and not m.up
    returning m.model, m.slots, m.busy
  )
  update model_hour h set up = h.up + 1, slots = h.slots + f.slots, busy = h.busy + f.busy
    from found f where h.model = f.model and h.hour = this_hour;

  with added as (
    insert into model_minute (slot, model, up, slots, busy)
    select this, s.model, s.up, s.slots, s.busy
      from unnest(p_models, p_up, p_slots, p_busy) as s (model, up, slots, busy)
    on conflict (slot, model) do nothing
    returning model, up, slots, busy
  )
  insert into model_hour as h (model, hour, samples, up, slots, busy)
  select model, this_hour, 1, up::int, slots, busy from added
  on conflict (model, hour) do update
    set samples = h.samples + 1, up = h.up + excluded.up, slots = h.slots + excluded.slots, busy = h.busy + excluded.busy;
  return is_first;
end $$;
