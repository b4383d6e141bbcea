import FanfareJSON

/// The type of a field in HTTP v1's JSON, as far as ``SchemaReader`` checks it.
indirect enum FieldType: Sendable {
    case string, bool, int32, float, duration, timestamp
    case stringMap
    /// Any JSON object.
    case structure
    case enumeration(Set<String>)
    case list(FieldType)
    case message(MessageSchema)
}

/// One message type: its fields by both spellings, each with its canonical name.
struct MessageSchema: Sendable {
    struct Field: Sendable {
        var name: String
        var type: FieldType
    }

    let fields: [ExactText: Field]

    /// - Parameter more: the fields of one type, beside the fields that it shares with others.
    init(_ types: [String: FieldType], _ more: [String: FieldType] = [:]) {
        var fields: [ExactText: Field] = [:]
        for (name, type) in Array(types) + more {
            fields[name] = Field(name: name, type: type)
            fields[FieldName.snake(name)] = Field(name: name, type: type)
        }
        self.fields = fields
    }
}

extension MessageSchema {
    static let sendRequest = MessageSchema(["validateOnly": .bool, "message": .message(message)])

    private static let message = MessageSchema([
        "name": .string, "data": .stringMap, "notification": .message(notification), "android": .message(android),
        "androidV2": .message(androidV2), "webpush": .message(webpush), "apns": .message(apns),
        "fcmOptions": .message(options), "token": .string, "fid": .string, "topic": .string, "condition": .string,
    ])

    private static let notification = MessageSchema(["title": .string, "body": .string, "image": .string])
    private static let options = MessageSchema(["analyticsLabel": .string])

    private static let androidShared: [String: FieldType] = [
        "collapseKey": .string, "ttl": .duration, "restrictedPackageName": .string, "data": .stringMap,
        "fcmOptions": .message(options), "directBootOk": .bool, "bandwidthConstrainedOk": .bool,
        "restrictedSatelliteOk": .bool,
    ]

    private static let android = MessageSchema(
        androidShared,
        [
            "priority": .enumeration(["NORMAL", "HIGH"]),
            "notification": .message(
                MessageSchema(
                    androidNotification,
                    [
                        "bypassProxyNotification": .bool,
                        "proxy": .enumeration(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
                    ]
                )
            ),
        ]
    )

    private static let androidV2 = MessageSchema(
        androidShared,
        [
            "backgroundSync": .message(MessageSchema([:])),
            "remoteNotification": .message(
                MessageSchema([
                    "mutableContent": .bool, "useAsV1DataMessage": .bool,
                    "notification": .message(MessageSchema(androidNotification, ["id": .int32])),
                ])
            ),
        ]
    )

    private static let androidNotification: [String: FieldType] = [
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "clickAction": .string, "bodyLocKey": .string, "bodyLocArgs": .list(.string), "titleLocKey": .string,
        "titleLocArgs": .list(.string), "channelId": .string, "ticker": .string, "sticky": .bool,
        "eventTime": .timestamp, "localOnly": .bool,
        "notificationPriority": .enumeration([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH",
            "PRIORITY_MAX",
        ]),
        "defaultSound": .bool, "defaultVibrateTimings": .bool, "defaultLightSettings": .bool,
        "vibrateTimings": .list(.duration),
        "visibility": .enumeration(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notificationCount": .int32,
        "lightSettings": .message(
            MessageSchema([
                "color": .message(MessageSchema(["red": .float, "green": .float, "blue": .float, "alpha": .float])),
                "lightOnDuration": .duration, "lightOffDuration": .duration,
            ])
        ),
        "image": .string,
    ]

    private static let webpush = MessageSchema([
        "headers": .stringMap, "data": .stringMap, "notification": .structure,
        "fcmOptions": .message(MessageSchema(["link": .string, "analyticsLabel": .string])),
    ])

    private static let apns = MessageSchema([
        "headers": .stringMap, "payload": .structure, "liveActivityToken": .string,
        "fcmOptions": .message(MessageSchema(["analyticsLabel": .string, "image": .string])),
    ])
}
