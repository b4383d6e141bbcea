/// The HTTP v1 `Message` without its target, as Google's REST reference and discovery document describe it.
enum MessageSchema {
    static let message = ObjectSchema([
        "data": .texts(.data),
        "notification": .object(notification),
        "android": .object(ObjectSchema(androidConfig)),
        "androidV2": .object(ObjectSchema(androidConfigV2)),
        "webpush": .object(webpush),
        "apns": .object(apns),
        "fcmOptions": .object(labelOptions),
        "name": .refused("output only"),
        "token": targetIsInEntry,
        "fid": targetIsInEntry,
        "topic": targetIsInEntry,
        "condition": targetIsInEntry,
    ])

    static let targetIsInEntry = FieldRule.refused("the target is a field of the entry")

    /// FCM keeps a message for four weeks at most.
    static let maximumLifetime: Int64 = 2_419_200
    /// The longest that a protobuf duration holds.
    static let maximumDuration: Int64 = 315_576_000_000

    private static let text = FieldRule.text(.any)
    private static let int32 = FieldRule.integer(-2_147_483_648...2_147_483_647)
    private static let timing = FieldRule.text(.duration(maximumSeconds: maximumDuration))

    private static let notification = ObjectSchema([
        "title": text,
        "body": text,
        "image": .text(.image),
    ])

    private static let labelOptions = ObjectSchema(["analyticsLabel": .text(.analyticsLabel)])

    private static let commonAndroid: [String: FieldRule] = [
        "collapseKey": text,
        "ttl": .text(.duration(maximumSeconds: maximumLifetime)),
        "restrictedPackageName": text,
        "data": .texts(.data),
        "fcmOptions": .object(labelOptions),
        "directBootOk": .boolean,
        "bandwidthConstrainedOk": .boolean,
        "restrictedSatelliteOk": .boolean,
    ]

    private static let androidConfig = commonAndroid.merging([
        "priority": .choice(["NORMAL", "HIGH"], anyCase: true),
        "notification": .object(
            ObjectSchema(
                commonAndroidNotification.merging([
                    "bypassProxyNotification": .boolean,
                    "proxy": .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"], anyCase: false),
                ]) { $1 }
            )
        ),
    ]) { $1 }

    private static let androidConfigV2 = commonAndroid.merging([
        "backgroundSync": .object(ObjectSchema([:])),
        "remoteNotification": .object(
            ObjectSchema([
                "mutableContent": .boolean,
                "useAsV1DataMessage": .boolean,
                "notification": .object(ObjectSchema(commonAndroidNotification.merging(["id": int32]) { $1 })),
            ])
        ),
    ]) { $1 }

    private static let commonAndroidNotification: [String: FieldRule] = [
        "title": text,
        "body": text,
        "icon": text,
        "color": .text(.color),
        "sound": text,
        "tag": text,
        "clickAction": text,
        "bodyLocKey": text,
        "bodyLocArgs": .array(of: text),
        "titleLocKey": text,
        "titleLocArgs": .array(of: text),
        "channelId": text,
        "ticker": text,
        "sticky": .boolean,
        "eventTime": .text(.timestamp),
        "localOnly": .boolean,
        "notificationPriority": .choice(
            ["UNSPECIFIED", "MIN", "LOW", "DEFAULT", "HIGH", "MAX"].map { "PRIORITY_" + $0 },
            anyCase: false
        ),
        "defaultSound": .boolean,
        "defaultVibrateTimings": .boolean,
        "defaultLightSettings": .boolean,
        "vibrateTimings": .array(of: timing),
        "visibility": .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"], anyCase: false),
        "notificationCount": int32,
        "lightSettings": .object(lightSettings),
        "image": .text(.image),
    ]

    private static let lightSettings = ObjectSchema(
        [
            "color": .object(
                ObjectSchema(["red": .fraction, "green": .fraction, "blue": .fraction, "alpha": .fraction])
            ),
            "lightOnDuration": timing,
            "lightOffDuration": timing,
        ],
        required: ["color", "lightOnDuration", "lightOffDuration"]
    )

    private static let webpush = ObjectSchema([
        "headers": .texts(.webPushHeaders),
        "data": .texts(.data),
        "notification": .anyObject,
        "fcmOptions": .object(
            ObjectSchema(["link": .text(.httpsLink), "analyticsLabel": .text(.analyticsLabel)])
        ),
    ])

    private static let apns = ObjectSchema([
        "headers": .texts(.apnsHeaders),
        "payload": .anyObject,
        "fcmOptions": .object(ObjectSchema(["analyticsLabel": .text(.analyticsLabel), "image": .text(.image)])),
        "liveActivityToken": text,
    ])
}
