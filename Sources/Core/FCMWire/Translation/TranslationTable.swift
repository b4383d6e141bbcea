/// The one table that turns legacy messages into v1 messages and back. The documentation's page "Translation" and the
/// tests hold the same rows.
enum TranslationTable {
    /// One legacy field and every place of a v1 message with the same meaning.
    struct Row: Sendable {
        let legacy: [String]
        let places: [Place]
        /// True for a text that users read: on one platform only, it has no counterpart in legacy.
        let isText: Bool

        init(_ legacy: String, isText: Bool = false, _ places: Place...) {
            self.legacy = TranslationTable.names(legacy)
            self.places = places
            self.isText = isText
        }
    }

    struct Place: Sendable {
        let path: [String]
        let form: ValueForm

        init(_ path: String, _ form: ValueForm) {
            self.path = TranslationTable.names(path)
            self.form = form
        }
    }

    static let rows: [Row] = [
        Row("data", Place("data", .data)),
        common("title"),
        common("body"),
        Row("notification/subtitle", Place("apns/payload/aps/alert/subtitle", .text)),
        localized("title_loc_key", android: "titleLocKey", apple: "title-loc-key", .text),
        localized("title_loc_args", android: "titleLocArgs", apple: "title-loc-args", .arguments),
        localized("body_loc_key", android: "bodyLocKey", apple: "loc-key", .text),
        localized("body_loc_args", android: "bodyLocArgs", apple: "loc-args", .arguments),
        Row(
            "notification/icon",
            Place("android/notification/icon", .drawable),
            Place("webpush/notification/icon", .imageURL)
        ),
        Row("notification/color", Place("android/notification/color", .text)),
        Row("notification/tag", Place("android/notification/tag", .text)),
        Row("notification/android_channel_id", Place("android/notification/channelId", .text)),
        Row(
            "notification/sound",
            Place("android/notification/sound", .androidSound),
            Place("apns/payload/aps/sound", .appleSound),
            Place("android/notification/defaultSound", .defaultSound)
        ),
        Row("notification/badge", Place("apns/payload/aps/badge", .badge)),
        Row(
            "notification/click_action",
            Place("android/notification/clickAction", .text),
            Place("webpush/fcmOptions/link", .link),
            Place("apns/payload/aps/category", .text)
        ),
        Row(
            "priority",
            Place("android/priority", .androidPriority),
            Place("webpush/headers/Urgency", .urgency),
            Place("apns/headers/apns-priority", .apnsPriority)
        ),
        Row(
            "time_to_live",
            Place("android/ttl", .duration),
            Place("webpush/headers/TTL", .seconds),
            Place("apns/headers/apns-expiration", .expiration)
        ),
        Row(
            "collapse_key",
            Place("android/collapseKey", .collapseKey),
            Place("webpush/headers/Topic", .webTopic),
            Place("apns/headers/apns-collapse-id", .collapseID)
        ),
        Row("restricted_package_name", Place("android/restrictedPackageName", .text)),
        Row("content_available", Place("apns/payload/aps/content-available", .flag)),
        Row("mutable_content", Place("apns/payload/aps/mutable-content", .flag)),
    ]

    /// Legacy fields outside the table: `dry_run` belongs to the request in v1, `delay_while_idle` has been without
    /// effect since 2016.
    static let otherLegacyFields: Set<String> = ["dry_run", "delay_while_idle"]

    /// A text that v1 has once for all platforms, and that each platform may override.
    private static func common(_ name: String) -> Row {
        Row(
            "notification/\(name)",
            isText: true,
            Place("notification/\(name)", .text),
            Place("android/notification/\(name)", .override),
            Place("webpush/notification/\(name)", .override),
            Place("apns/payload/aps/alert/\(name)", .override)
        )
    }

    private static func localized(_ legacy: String, android: String, apple: String, _ form: ValueForm) -> Row {
        Row(
            "notification/\(legacy)",
            isText: true,
            Place("android/notification/\(android)", form),
            Place("apns/payload/aps/alert/\(apple)", form)
        )
    }

    private static func names(_ path: String) -> [String] { path.split(separator: "/").map(String.init) }
}
