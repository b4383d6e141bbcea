#!/usr/bin/env bash
# Usage: REDIS_URL=redis://127.0.0.1:6379/0 push.sh PROJECT JOB_ID TOKEN...
set -euo pipefail
project=$1 id=$2
shift 2
base="fanfare:{$project}" group=newsletter-sh
redis() { redis-cli -u "${REDIS_URL:-redis://127.0.0.1:6379/0}" "$@"; }
# What is new to this group of a stream is printed, then acknowledged: `field` and `value` are on lines of their own.
drain() {
    local entries ids
    while entries=$(redis XREADGROUP GROUP "$group" one COUNT 100 STREAMS "$1" '>') && [ -n "$entries" ]; do
        printf '%s\n' "$entries"
        ids=$(grep -xE '[0-9]+-[0-9]+' <<<"$entries")
        # shellcheck disable=SC2086
        redis XACK "$1" "$group" $ids >/dev/null
    done
}

# Created before the first push, so that this group reads every result. It stays until `XGROUP DESTROY`.
for stream in results feedback; do
    redis XGROUP CREATE "$base:$stream" "$group" 0 MKSTREAM >/dev/null 2>&1 || true
done

# The id makes the push idempotent: repeated within 24 hours, it sends nothing.
tokens=$(printf '"%s",' "$@")
redis XADD "$base:jobs" '*' id "$id" tokens "[${tokens%,}]" \
    message '{"notification":{"title":"Hello","body":"World"}}' >/dev/null
echo "pushed $id"

declare -A job
until [[ ${job[state]-} =~ ^(done|cancelled|expired|rejected)$ ]]; do
    sleep 0.2
    while read -r field && read -r value; do job[$field]=$value; done < <(redis HGETALL "$base:job:$id")
done
drain "$base:results"
drain "$base:feedback"
# `sent` is what FCM accepted; nobody has seen it yet.
echo "$id is ${job[state]}: ${job[sent]} sent, ${job[failed]} failed, ${job[unknown]} unknown of ${job[total]}"
