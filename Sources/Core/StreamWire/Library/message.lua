-- message: FCM refuses the message of a fan-out. The fan-out is paused once MOST_REFUSED of its last JUDGED first attempts
-- were refused for the message. Only workers can tell: they report each answer of FCM that blames it.
--
-- Fields of spec:<id>:
--   answers             first attempts, counted until there are JUDGED
--   refusals            the last JUDGED of them in the order of their flushes: 1 is a refusal, 0 any other outcome. Missing
--                       or empty while all are 0, so a fan-out whose message is accepted writes nothing
--   refused_detail      what the last refusal names, such as message.android.ttl
--   judged              1: it was paused for its message, and is not judged again
-- Version 1 ended the job instead, and stored the error in `abort`. This version ignores that field.

local judge_message
do

local JUDGED, MOST_REFUSED = 100, 50

-- How many of JUDGED attempts in a row are refusals, where the last of them comes after `known` and at least
-- MOST_REFUSED are; nil when there is no such place. `all`: a digit for each attempt, see `refusals`.
local function find_refused(all, known)
  local refused = 0
  for at = 1, #all do
    if string.byte(all, at) == 49 then refused = refused + 1 end
    if at > JUDGED and string.byte(all, at - JUDGED) == 49 then refused = refused - 1 end
    if at >= JUDGED and at > known and refused >= MOST_REFUSED then return refused end
  end
  return nil
end

-- Adds the first attempts of a flush, and judges each one together with the attempts before it. Part of the flush's
-- step. `count`: their number; `refusals`: a digit for each, up to the last refusal; nil for none. Returns the reason
-- of a pause; nil when the job continues.
function judge_message(base, id, flush, count, refusals, detail)
  local spec = flush.spec
  if flush.class ~= 'fanout' or count <= 0 or spec.judged then return nil end
  local seen, known = tonumber(spec.answers) or 0, spec.refusals or ''
  if seen < JUDGED then add_pair(flush.spec_fields, 'answers', int(seen + count)) end
  if not refusals and known == '' then return nil end
  if known == '' then known = string.rep('0', math.min(seen, JUDGED)) end
  local new = string.sub((refusals or '') .. string.rep('0', count), 1, count)
  local last = string.sub(known .. new, -JUDGED)
  add_pair(flush.spec_fields, 'refusals', string.find(last, '1', 1, true) and last or '')
  if detail then add_pair(flush.spec_fields, 'refused_detail', detail) end
  local refused = find_refused(known .. new, #known)
  if not refused then return nil end
  detail = detail or redis.call('HGET', base .. 'spec:' .. id, 'refused_detail')
  return 'message refused: ' .. int(refused) .. ' of ' .. int(JUDGED) .. ' INVALID_ARGUMENT'
    .. (detail and detail ~= '' and ' (' .. detail .. ')' or '')
end

end
