/// The one table that turns legacy messages into v1 messages and back. The documentation's page "Translation" and the
/// tests hold the same rows.
enum TranslationTable {
    /// One legacy field and every place of a v1 message that says the same.
    struct Row: Sendable {
        let legacy: [String]
        let places: [Place]
        /// True for what a user reads: on one platform only, it has no counterpart in legacy.
        var isText = false
    }

    struct Place: Sendable {
        let path: [String]
        let form: ValueForm

        init(_ path: String, _ form: ValueForm) {
            self.path = path.split(separator: "/").map(String.init)
            self.form = form
        }
    }

    static let rows: [Row] = [
        Row(legacy: ["data"], places: [Place("data", .data)]),
        Row(
            legacy: ["notification", "title"],
            places: [
                Place("notification/title", .text),
                Place("android/notification/title", .override),
                Place("webpush/notification/title", .override),
                Place("apns/payload/aps/alert/title", .override),
            ],
            isText: true
        ),
        Row(
            legacy: ["notification", "body"],
            places: [
                Place("notification/body", .text),
                Place("android/notification/body", .override),
                Place("webpush/notification/body", .override),
                Place("apns/payload/aps/alert/body", .override),
            ],
            isText: true
        ),
        Row(legacy: ["notification", "subtitle"], places: [Place("apns/payload/aps/alert/subtitle", .text)]),
        localized("title_loc_key", android: "titleLocKey", apple: "title-loc-key", .text),
        localized("title_loc_args", android: "titleLocArgs", apple: "title-loc-args", .arguments),
        localized("body_loc_key", android: "bodyLocKey", apple: "loc-key", .text),
        localized("body_loc_args", android: "bodyLocArgs", apple: "loc-args", .arguments),
        Row(
            legacy: ["notification", "icon"],
            places: [
                Place("android/notification/icon", .drawable), Place("webpush/notification/icon", .imageURL),
            ]
        ),
        Row(legacy: ["notification", "color"], places: [Place("android/notification/color", .text)]),
        Row(legacy: ["notification", "tag"], places: [Place("android/notification/tag", .text)]),
        Row(
            legacy: ["notification", "android_channel_id"],
            places: [Place("android/notification/channelId", .text)]
        ),
        Row(
            legacy: ["notification", "sound"],
            places: [
                Place("android/notification/sound", .androidSound), Place("apns/payload/aps/sound", .appleSound),
                Place("android/notification/defaultSound", .defaultSound),
            ]
        ),
        Row(legacy: ["notification", "badge"], places: [Place("apns/payload/aps/badge", .badge)]),
        Row(
            legacy: ["notification", "click_action"],
            places: [
                Place("android/notification/clickAction", .text),
                Place("webpush/fcmOptions/link", .link),
                Place("apns/payload/aps/category", .text),
            ]
        ),
        Row(
            legacy: ["priority"],
            places: [
                Place("android/priority", .androidPriority),
                Place("webpush/headers/Urgency", .urgency),
                Place("apns/headers/apns-priority", .apnsPriority),
            ]
        ),
        Row(
            legacy: ["time_to_live"],
            places: [
                Place("android/ttl", .duration),
                Place("webpush/headers/TTL", .seconds),
                Place("apns/headers/apns-expiration", .expiration),
            ]
        ),
        Row(
            legacy: ["collapse_key"],
            places: [
                Place("android/collapseKey", .collapseKey),
                Place("webpush/headers/Topic", .webTopic),
                Place("apns/headers/apns-collapse-id", .collapseID),
            ]
        ),
        Row(legacy: ["restricted_package_name"], places: [Place("android/restrictedPackageName", .text)]),
        Row(legacy: ["content_available"], places: [Place("apns/payload/aps/content-available", .flag)]),
        Row(legacy: ["mutable_content"], places: [Place("apns/payload/aps/mutable-content", .flag)]),
    ]

    /// Legacy fields with a meaning of their own: `dry_run` belongs to the request in v1, `delay_while_idle` has been
    /// without effect since 2016.
    static let otherLegacyFields: Set<String> = ["dry_run", "delay_while_idle"]

    private static func localized(_ legacy: String, android: String, apple: String, _ form: ValueForm) -> Row {
        Row(
            legacy: ["notification", legacy],
            places: [Place("android/notification/\(android)", form), Place("apns/payload/aps/alert/\(apple)", form)],
            isText: true
        )
    }
}
