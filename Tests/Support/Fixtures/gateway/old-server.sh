#!/bin/bash
# What a server of 2015 runs from its crontab: curl, plain text, JSON, a device group.
#   old-server.sh KEY SENDER-ID
# Prints each answer after its name and its status.
set -euo pipefail
key=$1 sender=$2
ask() {
    name=$1
    shift
    printf '%s ' "$name"
    curl -sS -w ' %{http_code}\n' "$@"
}
json="Content-Type: application/json"
ask text -d registration_id=curl-1 -d data.score=4x8 -H "Authorization: key=$key" https://android.googleapis.com/gcm/send
ask gone -d registration_id=sbx-unregistered-curl -d data.a=b -H "Authorization: key=$key" https://fcm.googleapis.com/fcm/send
ask json -H "$json" -H "Authorization: key=$key" -d '{"to":"curl-2","notification":{"title":"Hi","image":"https://a/b"}}' https://fcm.googleapis.com/fcm/send
ask topic -H "$json" -H "Authorization: key=$key" -d '{"to":"/topics/news","data":{"a":"b"}}' https://gcm-http.googleapis.com/gcm/send
members='"registration_ids":["curl-3","curl-4"]'
answer=$(curl -sS -H "$json" -H "Authorization: key=$key" -H "project_id: $sender" -d "{\"operation\":\"create\",\"notification_key_name\":\"home\",$members}" https://android.googleapis.com/gcm/notification)
echo "create $answer"
group=$(printf '%s' "$answer" | sed 's/.*"notification_key":"\([^"]*\)".*/\1/')
ask group -H "$json" -H "Authorization: key=$key" -d "{\"notification_key\":\"$group\",\"data\":{\"a\":\"b\"}}" https://fcm.googleapis.com/fcm/send
ask to -H "$json" -H "Authorization: key=$key" -d "{\"to\":\"$group\",\"data\":{\"a\":\"c\"}}" https://fcm.googleapis.com/fcm/send
ask find -H "$json" -H "Authorization: key=$key" -H "project_id: $sender" 'https://fcm.googleapis.com/fcm/notification?notification_key_name=home'
ask info -H "Authorization: key=$key" 'https://iid.googleapis.com/iid/info/curl-2?details=true'
ask wrong -d registration_id=curl-1 -H "Authorization: key=AIza" https://fcm.googleapis.com/fcm/send
ask several -d registration_id=curl-1 -H "Authorization: key=${3:-AIza}" https://fcm.googleapis.com/fcm/send
