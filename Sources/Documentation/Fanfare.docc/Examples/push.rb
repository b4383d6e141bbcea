# Usage: REDIS_URL=redis://127.0.0.1:6379/0 ruby push.rb PROJECT JOB_ID TOKEN...
# Exits with 0 if all of it was sent, 1 if something failed, 69 if Redis cannot be reached. Needs: gem install redis
require 'json'
require 'redis'

project, id, *tokens = ARGV
base = "fanfare:{#{project}}"
GROUP = 'newsletter-rb'
REDIS = Redis.new(url: ENV.fetch('REDIS_URL', 'redis://127.0.0.1:6379/0'))

# Yields what the group has not acknowledged: first what this consumer was given before it crashed.
def read(stream)
  %w[0 >].each do |start|
    until (entries = REDIS.xreadgroup(GROUP, 'one', stream, start, count: 100).fetch(stream, [])).empty?
      entries.each do |entry_id, fields|
        yield fields
        REDIS.xack(stream, GROUP, entry_id) # only now: a crash before this line has it read again
      end
    end
  end
end

def on_results(fields)
  JSON.parse(fields['results']).each do |result|
    # "sent": FCM accepted the message. It does not mean that a device showed it.
    puts "#{fields['job']} #{result['i']} #{result['status']} #{result['error'] || '-'}"
  end
end

def on_feedback(fields)
  # "remove": forget the token. "replace": use fields['replacement'] from now on.
  puts "feedback #{fields['action']} #{fields['token'] || fields['fid']}"
end

# Reads results and feedback until the job is over. Returns whether all of it was sent.
def follow(base, id)
  job = {}
  until %w[done cancelled expired rejected].include?(job['state'])
    sleep 0.2
    job = REDIS.hgetall("#{base}:job:#{id}") # empty until a worker has taken the job
    read("#{base}:results") { |fields| on_results(fields) }
    read("#{base}:feedback") { |fields| on_feedback(fields) }
  end
  abort "#{id} is rejected: #{job['reason']}" if job['state'] == 'rejected'
  puts "#{id} is #{job['state']}: #{job['sent']} sent, #{job['failed']} failed, #{job['unknown']} unknown of #{job['total']}"
  job['sent'] == job['total']
end

begin
  # Created before the first push and at the end of each stream ($), so that this group reads every result of its own
  # jobs and none that is older. It stays until XGROUP DESTROY.
  %w[results feedback].each do |name|
    REDIS.xgroup(:create, "#{base}:#{name}", GROUP, '$', mkstream: true)
  rescue Redis::CommandError => e
    raise unless e.message.start_with?('BUSYGROUP')
  end

  # The id makes the push idempotent: repeated within 24 hours, it sends nothing.
  message = { notification: { title: 'Hello', body: 'World' } }
  REDIS.xadd("#{base}:jobs", { id: id, tokens: tokens.to_json, message: message.to_json })

  # A personal job: each recipient has a value for the placeholder.
  personal = "#{id}-personal"
  people = tokens.map { |token| { token: token, vars: { name: 'Ana' } } }
  message = { notification: { title: 'Hello {{name|there}}', body: 'World' } }
  REDIS.xadd("#{base}:jobs", { id: personal, recipients: people.to_json, message: message.to_json })
  puts "pushed #{id} and #{personal}"

  exit [id, personal].map { |job| follow(base, job) }.all?
rescue Redis::BaseConnectionError => e
  warn "Redis cannot be reached: #{e.message}"
  exit 69
end
