// Made from the workers' table of fields. TypedMessageFileTests says how to make it again.
import FanfareClient

@testable import FanfareCore

extension Message: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            notification: source.optional { .sample(&$0) },
            data: source.optional { $0.texts(.data) },
            android: source.optional { .sample(&$0) },
            androidV2: source.optional { .sample(&$0) },
            webpush: source.optional { .sample(&$0) },
            apns: source.optional { .sample(&$0) },
            fcmOptions: source.optional { .sample(&$0) }
        )
    }
}

extension Message.Notification: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            title: source.optional { $0.text() },
            body: source.optional { $0.text() },
            image: source.optional { $0.link("http") }
        )
    }
}

extension Message.FcmOptions: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            analyticsLabel: source.optional { $0.label() }
        )
    }
}

extension Message.AndroidConfig: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            collapseKey: source.optional { $0.text() },
            ttl: source.optional { $0.duration(2419200) },
            restrictedPackageName: source.optional { $0.text() },
            data: source.optional { $0.texts(.data) },
            fcmOptions: source.optional { .sample(&$0) },
            directBootOk: source.optional { $0.flag() },
            bandwidthConstrainedOk: source.optional { $0.flag() },
            restrictedSatelliteOk: source.optional { $0.flag() },
            priority: source.optional { $0.choice() },
            notification: source.optional { .sample(&$0) }
        )
    }
}

extension Message.AndroidNotification: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            title: source.optional { $0.text() },
            body: source.optional { $0.text() },
            icon: source.optional { $0.text() },
            color: source.optional { $0.color() },
            sound: source.optional { $0.text() },
            tag: source.optional { $0.text() },
            clickAction: source.optional { $0.text() },
            bodyLocKey: source.optional { $0.text() },
            bodyLocArgs: source.optional { $0.list { $0.text() } },
            titleLocKey: source.optional { $0.text() },
            titleLocArgs: source.optional { $0.list { $0.text() } },
            channelId: source.optional { $0.text() },
            ticker: source.optional { $0.text() },
            sticky: source.optional { $0.flag() },
            eventTime: source.optional { $0.timestamp() },
            localOnly: source.optional { $0.flag() },
            notificationPriority: source.optional { $0.choice() },
            defaultSound: source.optional { $0.flag() },
            defaultVibrateTimings: source.optional { $0.flag() },
            defaultLightSettings: source.optional { $0.flag() },
            vibrateTimings: source.optional { $0.list { $0.duration(315576000000) } },
            visibility: source.optional { $0.choice() },
            notificationCount: source.optional { $0.int32() },
            lightSettings: source.optional { .sample(&$0) },
            image: source.optional { $0.link("http") },
            bypassProxyNotification: source.optional { $0.flag() },
            proxy: source.optional { $0.choice() }
        )
    }
}

extension Message.LightSettings: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            color: source.required { .sample(&$0) },
            lightOnDuration: source.required { $0.duration(315576000000) },
            lightOffDuration: source.required { $0.duration(315576000000) }
        )
    }
}

extension Message.Color: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            red: source.optional { $0.fraction() },
            green: source.optional { $0.fraction() },
            blue: source.optional { $0.fraction() },
            alpha: source.optional { $0.fraction() }
        )
    }
}

extension Message.AndroidConfigV2: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            collapseKey: source.optional { $0.text() },
            ttl: source.optional { $0.duration(2419200) },
            restrictedPackageName: source.optional { $0.text() },
            data: source.optional { $0.texts(.data) },
            fcmOptions: source.optional { .sample(&$0) },
            directBootOk: source.optional { $0.flag() },
            bandwidthConstrainedOk: source.optional { $0.flag() },
            restrictedSatelliteOk: source.optional { $0.flag() },
            backgroundSync: source.optional { .sample(&$0) },
            remoteNotification: source.optional { .sample(&$0) }
        )
    }
}

extension Message.AndroidBackgroundSync: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self()
    }
}

extension Message.AndroidRemoteNotification: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            mutableContent: source.optional { $0.flag() },
            useAsV1DataMessage: source.optional { $0.flag() },
            notification: source.optional { .sample(&$0) }
        )
    }
}

extension Message.AndroidNotificationV2: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            title: source.optional { $0.text() },
            body: source.optional { $0.text() },
            icon: source.optional { $0.text() },
            color: source.optional { $0.color() },
            sound: source.optional { $0.text() },
            tag: source.optional { $0.text() },
            clickAction: source.optional { $0.text() },
            bodyLocKey: source.optional { $0.text() },
            bodyLocArgs: source.optional { $0.list { $0.text() } },
            titleLocKey: source.optional { $0.text() },
            titleLocArgs: source.optional { $0.list { $0.text() } },
            channelId: source.optional { $0.text() },
            ticker: source.optional { $0.text() },
            sticky: source.optional { $0.flag() },
            eventTime: source.optional { $0.timestamp() },
            localOnly: source.optional { $0.flag() },
            notificationPriority: source.optional { $0.choice() },
            defaultSound: source.optional { $0.flag() },
            defaultVibrateTimings: source.optional { $0.flag() },
            defaultLightSettings: source.optional { $0.flag() },
            vibrateTimings: source.optional { $0.list { $0.duration(315576000000) } },
            visibility: source.optional { $0.choice() },
            notificationCount: source.optional { $0.int32() },
            lightSettings: source.optional { .sample(&$0) },
            image: source.optional { $0.link("http") },
            id: source.optional { $0.int32() }
        )
    }
}

extension Message.WebpushConfig: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            headers: source.optional { $0.texts(.webPushHeaders) },
            data: source.optional { $0.texts(.data) },
            notification: source.optional { $0.object() },
            fcmOptions: source.optional { .sample(&$0) }
        )
    }
}

extension Message.WebpushFcmOptions: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            link: source.optional { $0.link("https") },
            analyticsLabel: source.optional { $0.label() }
        )
    }
}

extension Message.ApnsConfig: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            headers: source.optional { $0.texts(.apnsHeaders) },
            payload: source.optional { $0.object() },
            fcmOptions: source.optional { .sample(&$0) },
            liveActivityToken: source.optional { $0.text() }
        )
    }
}

extension Message.ApnsFcmOptions: Sampled {
    static func sample(_ source: inout SampleSource) -> Self {
        Self(
            analyticsLabel: source.optional { $0.label() },
            image: source.optional { $0.link("http") }
        )
    }
}
