internal import FanfareModel

/// The body of a legacy downstream message without its target, as the legacy HTTP and XMPP references describe it.
enum LegacySchema {
    static let message = ObjectSchema(
        [
            "collapse_key": text,
            "priority": .part(.display, .choice(["normal", "high"], anyCase: false)),
            "content_available": .part(.display, .boolean),
            "mutable_content": .part(.display, .boolean),
            "time_to_live": .integer(0...MessageSchema.maximumLifetime),
            "restricted_package_name": .part(.packageName, text),
            "dry_run": .boolean,
            // A field of Google Cloud Messaging, which FCM ignores.
            "delay_while_idle": .part(.display, .boolean),
            "data": .anyData,
            "notification": .part(.display, .object(notification)),
            "delivery_receipt_requested": .part(.deliveryReceipt, .boolean),
            "message_id": .refused("chosen by the worker"),
            "notification_key": .refused("withdrawn, give the entry's group instead"),
            "to": MessageSchema.targetIsInEntry,
            "registration_ids": MessageSchema.targetIsInEntry,
            "registration_id": MessageSchema.targetIsInEntry,
            "condition": MessageSchema.targetIsInEntry,
        ],
        isProtobuf: false
    )

    private static let text = FieldRule.text(.any)

    private static let notification = ObjectSchema(
        [
            "title": text,
            "body": text,
            "subtitle": text,
            // An object for Apple's critical alerts.
            "sound": .textOrAnyObject,
            "badge": .text(.digits),
            "icon": text,
            "android_channel_id": text,
            "tag": text,
            "color": .text(.color),
            "click_action": text,
            "body_loc_key": text,
            "body_loc_args": .text(.arrayText),
            "title_loc_key": text,
            "title_loc_args": .text(.arrayText),
        ],
        isProtobuf: false
    )
}
