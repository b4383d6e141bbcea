#!/usr/bin/env bash
# Usage: REDIS_URL=redis://127.0.0.1:6379/0 bash push.sh PROJECT JOB_ID TOKEN...
# Exits with 0 if all of it was sent, 1 if something failed, 69 if Redis refuses or cannot be reached. Needs redis-cli 7.
set -euo pipefail
project=$1 id=$2
shift 2
base="fanfare:{$project}" group=newsletter-sh
redis() { redis-cli -e -u "${REDIS_URL:-redis://127.0.0.1:6379/0}" "$@" || exit 69; }
# What is new to this group of a stream is printed, then acknowledged: `field` and `value` are on lines of their own.
drain() {
    local entries ids
    while true; do
        entries=$(redis XREADGROUP GROUP "$group" one COUNT 100 STREAMS "$1" '>')
        [ -n "$entries" ] || return 0
        printf '%s\n' "$entries"
        ids=$(grep -xE '[0-9]+-[0-9]+' <<<"$entries")
        # shellcheck disable=SC2086
        redis XACK "$1" "$group" $ids >/dev/null
    done
}

# Waits until a job is over and prints results and feedback. The status is 1 afterwards unless all of it was sent.
status=0
follow() {
    local -A job=()
    until [[ ${job[state]-} =~ ^(done|cancelled|expired|rejected)$ ]]; do
        sleep 0.2
        fields=$(redis HGETALL "$base:job:$1") # empty until a worker has taken the job
        while read -r field && read -r value; do job[$field]=$value; done <<<"$fields"
    done
    drain "$base:results"
    drain "$base:feedback"
    if [ "${job[state]}" = rejected ]; then
        echo "$1 is rejected: ${job[reason]}" >&2
        status=1
        return
    fi
    # `sent`: FCM accepted the message. It does not mean that a device showed it.
    echo "$1 is ${job[state]}: ${job[sent]} sent, ${job[failed]} failed, ${job[unknown]} unknown of ${job[total]}"
    [ "${job[sent]}" = "${job[total]}" ] || status=1
}

# Created before the first push and at the end of each stream ($), so that this group reads every result of its own
# jobs and none that is older. It stays until `XGROUP DESTROY`.
for stream in results feedback; do
    reply=$(redis XGROUP CREATE "$base:$stream" "$group" '$' MKSTREAM 2>&1) || [[ $reply == *BUSYGROUP* ]] || {
        echo "$reply" >&2
        exit 69
    }
done

# The id makes the push idempotent: repeated within 24 hours, it sends nothing.
tokens=$(printf '"%s",' "$@")
redis XADD "$base:jobs" '*' id "$id" tokens "[${tokens%,}]" \
    message '{"notification":{"title":"Hello","body":"World"}}' >/dev/null
# A personal job: each recipient has a value for the placeholder.
people=$(printf '{"token":"%s","vars":{"name":"Ana"}},' "$@")
redis XADD "$base:jobs" '*' id "$id-personal" recipients "[${people%,}]" \
    message '{"notification":{"title":"Hello {{name|there}}","body":"World"}}' >/dev/null
echo "pushed $id and $id-personal"

follow "$id"
follow "$id-personal"
exit "$status"
