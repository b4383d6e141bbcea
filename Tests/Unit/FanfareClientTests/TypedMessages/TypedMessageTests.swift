import FanfareClient
import FanfareJSON
import FanfareModel
import Testing

@testable import FanfareCore

@Suite struct TypedMessageTests {
    private static func decide(_ message: Message) -> IntakeDecision {
        let validator = IntakeValidator(
            .v1,
            hasSenderID: true,
            projectKeyTag: "{demo}",
            prefix: "fanfare"
        )
        return validator.decide(entryID: "1-0", fields: PushJob(target: .tokens(["a:b"]), message: message).fields)
    }

    /// `androidV2` is refused beside `android`.
    static func message(_ source: inout SampleSource, second: Bool) -> Message {
        var message = Message.sample(&source)
        if second { message.android = nil } else { message.androidV2 = nil }
        return message
    }

    @Test func workersAcceptEveryTypedMessage() {
        for seed in 0..<1_000 {
            var source = SampleSource(seed: UInt64(seed))
            let message = Self.message(&source, second: seed.isMultiple(of: 2))
            guard case .accept = Self.decide(message) else {
                Issue.record("seed \(seed): \(Self.decide(message)) for \(message.jsonText)")
                return
            }
        }
    }

    /// Each name of the table is written, at its place, and no other.
    @Test func fullMessageHasEveryFieldOfTheTable() throws {
        var source = SampleSource(seed: 1, isFull: true)
        let json = try JSONParser.parse(Message.sample(&source).jsonBytes, limits: JSONLimits())
        var schemas: [String: ObjectSchema] = [:]
        TypedMessageSource.collect(MessageSchema.message, "", &schemas)
        #expect(schemas.count > 10)
        for (path, schema) in schemas {
            var value = json
            for name in path.split(separator: ".") { value = try #require(value.object?[String(name)], "\(path)") }
            let allowed = schema.rules.filter { if case .refused = $0.value { false } else { true } }
            #expect(Set(try #require(value.object).members.map(\.key)) == Set(allowed.keys), "\(path)")
        }
    }

    @Test func emptyMessageIsAnEmptyObject() {
        #expect(Message().jsonText == "{}")
        #expect(Message(androidV2: .init(backgroundSync: .init())).jsonText == #"{"androidV2":{"backgroundSync":{}}}"#)
    }

    @Test func everyKindOfFieldIsWrittenAsTheContractHasIt() {
        let message = Message(
            notification: .init(title: "Hello \"World\""),
            data: ["b": "2", "a": "1"],
            android: .init(
                ttl: .seconds(3_600),
                priority: .high,
                notification: .init(
                    bodyLocArgs: ["x"],
                    sticky: false,
                    vibrateTimings: [.milliseconds(500), .zero],
                    visibility: .private,
                    notificationCount: -1,
                    lightSettings: .init(
                        color: .init(red: 1, green: 0.5),
                        lightOnDuration: .seconds(1),
                        lightOffDuration: .milliseconds(1)
                    )
                )
            ),
            apns: .init(headers: ["apns-priority": "5"], payload: ["aps": ["content-available": 1]])
        )
        #expect(
            message.jsonText == #"{"notification":{"title":"Hello \"World\""},"data":{"a":"1","b":"2"},"#
                + #""android":{"ttl":"3600s","priority":"HIGH","notification":{"bodyLocArgs":["x"],"sticky":false,"#
                + #""vibrateTimings":["0.5s","0s"],"visibility":"PRIVATE","notificationCount":-1,"#
                + #""lightSettings":{"color":{"red":1.0,"green":0.5},"lightOnDuration":"1s","#
                + #""lightOffDuration":"0.001s"}}},"#
                + #""apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{"content-available":1}}}}"#
        )
    }

    @Test func additionalMembersAreWrittenAndReplace() {
        let message = Message(notification: .init(title: "a", additional: ["new": 1, "title": "b"]))
        #expect(message.jsonText == #"{"notification":{"title":"b","new":1}}"#)
    }

    @Test(arguments: [
        (Duration.zero, "0s"), (.milliseconds(3_500), "3.5s"), (.nanoseconds(1), "0.000000001s"),
        (.seconds(2_419_200), "2419200s"), (.microseconds(100), "0.0001s"), (.milliseconds(-1_500), "-1.5s"),
        (Duration(secondsComponent: 1, attosecondsComponent: 1), "1s"),
        (Duration(secondsComponent: .max, attosecondsComponent: 0), "9223372036854775807s"),
    ])
    func durationIsSecondsWithAtMostNineDecimals(duration: Duration, text: String) {
        #expect(Message(android: .init(ttl: duration)).jsonText == #"{"android":{"ttl":"\#(text)"}}"#)
    }

    /// What a type cannot rule out is the worker's to reject, by the field's name.
    @Test func workersNameTheFieldThatIsWrong() {
        func reason(_ message: Message) -> String {
            if case .reject(_, let reason) = Self.decide(message) { return reason }
            return "accepted"
        }
        #expect(reason(Message(android: .init(ttl: .seconds(-1)))).contains("message.android.ttl"))
        let color = Message.Color(red: .nan)
        let light = Message.LightSettings(color: color, lightOnDuration: .zero, lightOffDuration: .zero)
        let message = Message(android: .init(notification: .init(lightSettings: light)))
        #expect(reason(message).contains("lightSettings.color.red"))
    }

    @Test func jobHoldsTheJSONOfItsMessage() {
        let message = Message(notification: .init(title: "Hello"))
        let job = PushJob(target: .topic("news"), message: message)
        #expect(job.message == message.jsonBytes)
        #expect(job == PushJob(target: .topic("news"), message: #"{"notification":{"title":"Hello"}}"#))
    }
}
