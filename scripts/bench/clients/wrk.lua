-- Fills and sends the events of ../traffic.ts. Arguments are name=value; they come from wrk.ts.

local options = {}
local courts = {}
local turn = 0
local events, per_second, event
local start = os.time()

-- Ready-made digits: each text that Lua makes on the way costs it a hash.
local hex, millisecond, digits = {}, {}, {}

-- What is filled in, as Lua; n is the number of the event in its court.
local FILL = {
  id = 'hex[r(0, 65535)] .. hex[r(0, 65535)] .. hex[r(0, 65535)] .. hex[r(0, 65535)] .. hex[r(0, 65535)] .. hex[r(0, 65535)]',
  session = 'court.session',
  court = 'court.name',
  eot = 'court.date .. millisecond[n % per_second] .. "Z"',
  ns = 'court.second .. millisecond[n % per_second] .. "000000"',
  n = 'digits[n % 900]',
}

function init(args)
  for i = 1, #args do
    local name, value = args[i]:match('^(%w+)=(.*)$')
    options[name] = tonumber(value) or value
  end
  events = options.events
  per_second = 1000 / options.eventMs
  math.randomseed(options.seed)
  for i = 0, 65535 do hex[i] = string.format('%04x', i) end
  for i = 0, per_second - 1 do millisecond[i] = string.format('%03d', i * options.eventMs) end
  for i = 0, 899 do digits[i] = tostring(100 + i) end
  for i = 1, options.courts do
    courts[i] = { name = tostring(i), sent = math.ceil(options.before / options.courts) }
  end
  event = compile(options.event)
end

-- A function (court, n) that returns the event's text.
function compile(text)
  local body = string.format('%q', text):gsub('{(%w+)}', function(name) return '" .. ' .. FILL[name] .. ' .. "' end)
  local source = 'local r, hex, millisecond, digits, per_second = ... return function(court, n) return ' .. body .. ' end'
  return assert(loadstring(source))(math.random, hex, millisecond, digits, per_second)
end

local function begin_second(court, second)
  court.began = second
  court.second = tostring(start + second)
  court.date = os.date('!%Y-%m-%dT%H:%M:%S.', start + second)
  court.session = string.format('%s-%s-%d', options.run, court.name, math.floor(court.sent / options.sessionEvents))
end

local parts = {}

function request()
  turn = turn % #courts + 1
  local court = courts[turn]
  for i = 1, events do
    local n = court.sent
    local second = math.floor(n / per_second)
    if second ~= court.began then begin_second(court, second) end
    parts[i] = event(court, n)
    court.sent = n + 1
  end
  local body = parts[1]
  if events > 1 then body = options.open .. table.concat(parts, options.between) .. options.close end
  return options.head .. #body .. '\r\n\r\n' .. body
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format('{"requests":%d,"seconds":%.6f,"p50Us":%d,"p99Us":%d,"failures":%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), failures))
end
