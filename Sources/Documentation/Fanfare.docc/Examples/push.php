<?php
// Usage: REDIS_URL=redis://127.0.0.1:6379/0 php push.php PROJECT JOB_ID TOKEN...
// Exits with 0 if all of it was sent, 1 if something failed, 69 if Redis cannot be reached. Needs the extension phpredis.
[, $project, $id] = $argv;
$tokens = array_slice($argv, 3);
$base = "fanfare:{{$project}}";
$group = 'newsletter-php';
$redis = new Redis();

// Hands over what the group has not acknowledged: first what this consumer was given before it crashed.
function read(string $stream, callable $handle): void
{
    global $redis, $group;
    foreach (['0', '>'] as $start) {
        while ($entries = $redis->xReadGroup($group, 'one', [$stream => $start], 100)[$stream] ?? []) {
            foreach ($entries as $entryID => $fields) {
                $handle($fields);
                $redis->xAck($stream, $group, [$entryID]); // only now: a crash before this line has it read again
            }
        }
    }
}

function onResults(array $fields): void
{
    foreach (json_decode($fields['results'], true) as $result) {
        // "sent": FCM accepted the message. It does not mean that a device showed it.
        echo "{$fields['job']} {$result['i']} {$result['status']} ", $result['error'] ?? '-', "\n";
    }
}

function onFeedback(array $fields): void
{
    // "remove": forget the token. "replace": use $fields['replacement'] from now on.
    echo "feedback {$fields['action']} ", $fields['token'] ?? $fields['fid'], "\n";
}

// Reads results and feedback until the job is over. Returns whether all of it was sent.
function follow(string $base, string $id): bool
{
    global $redis;
    do {
        usleep(200_000);
        $job = $redis->hGetAll("$base:job:$id"); // empty until a worker has taken the job
        $state = $job['state'] ?? '';
        read("$base:results", 'onResults');
        read("$base:feedback", 'onFeedback');
    } while (!in_array($state, ['done', 'cancelled', 'expired', 'rejected']));
    if ($state === 'rejected') {
        fwrite(STDERR, "$id is rejected: {$job['reason']}\n");
        return false;
    }
    echo "$id is $state: {$job['sent']} sent, {$job['failed']} failed, {$job['unknown']} unknown of {$job['total']}\n";
    return $job['sent'] === $job['total'];
}

try {
    $url = parse_url(getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379/0');
    $redis->connect($url['host'], $url['port'] ?? 6379);
    // Created before the first push and at the end of each stream ($), so that this group reads every result of its own
    // jobs and none that is older. It stays until XGROUP DESTROY. For a group that exists, the client returns false.
    foreach (['results', 'feedback'] as $name) {
        $redis->xGroup('CREATE', "$base:$name", $group, '$', true);
    }

    // The id makes the push idempotent: repeated within 24 hours, it sends nothing.
    $message = ['notification' => ['title' => 'Hello', 'body' => 'World']];
    $redis->xAdd("$base:jobs", '*', ['id' => $id, 'tokens' => json_encode($tokens), 'message' => json_encode($message)]);

    // A personal job: each recipient has a value for the placeholder.
    $personal = "$id-personal";
    $people = array_map(fn ($token) => ['token' => $token, 'vars' => ['name' => 'Ana']], $tokens);
    $message = ['notification' => ['title' => 'Hello {{name|there}}', 'body' => 'World']];
    $fields = ['id' => $personal, 'recipients' => json_encode($people), 'message' => json_encode($message)];
    $redis->xAdd("$base:jobs", '*', $fields);
    echo "pushed $id and $personal\n";

    $isSent = array_map(fn ($job) => follow($base, $job), [$id, $personal]);
} catch (RedisException $error) {
    fwrite(STDERR, "Redis cannot be reached: {$error->getMessage()}\n");
    exit(69);
}
exit(in_array(false, $isSent) ? 1 : 0);
