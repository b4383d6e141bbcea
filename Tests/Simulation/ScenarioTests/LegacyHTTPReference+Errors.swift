import FCMSimulator
import FCMWire
import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

/// Table 9, the errors, and table 10, the keys of group management.
extension LegacyHTTPReference {
    /// Legacy JSON and plain text: the same codes, the same verdicts.
    static let both = [Scene.Carrier.legacy, .plainText]

    @Test("L49: a request without a token gets MissingRegistration")
    func missingRegistration() throws {
        var scene = try Scene()
        #expect(scene.raw(#"{"data":{"a":"b"}}"#, over: .legacy).failure == Self.fixMessage)
        #expect(scene.reply.status == 200)
        #expect(scene.reply.text.contains(#""error":"MissingRegistration""#))
        // From us it cannot come: a job without a target is not taken in.
        #expect(throws: Scene.Rejected.self) { try scene.intake(["message": "{}", "format": "legacy"], over: .legacy) }
    }

    @Test("L50 L54 L66: an invalid token, another sender's and one without APNs key each get their error")
    func permanentErrors() throws {
        var scene = try Scene()
        let table = [
            ("sbx-invalid-1", "InvalidRegistration", "INVALID_ARGUMENT remove"),
            ("sbx-mismatch-1", "MismatchSenderId", "SENDER_ID_MISMATCH fix_credentials"),
            ("sbx-auth-1", "InvalidApnsCredential", "THIRD_PARTY_AUTH_ERROR fix_credentials"),
        ]
        for (token, code, failure) in table {
            for carrier in Self.both {
                #expect(try scene.send(Self.score, to: ("token", token), over: carrier).failure == failure)
                #expect(scene.reply.status == 200)
                #expect(scene.reply.text.contains(code))
            }
        }
    }

    @Test("L51: a token that ended for any reason gets NotRegistered and is to be removed")
    func notRegistered() throws {
        for carrier in Self.both {
            var scene = try Scene()
            scene.device("unregistered", Device(state: .unregistered))
            scene.device("expired", Device(inactiveDays: 270))
            scene.device("apple", Device(platform: .apple, state: .disabled))
            scene.device("old", Device(refreshedTo: "new", oldTokenWorksMs: 1_000))
            scene.device("uninstalled", Device(state: .uninstalled))
            #expect(try scene.send(Self.score, to: ("token", "uninstalled"), over: carrier).isSent)
            #expect(try scene.send(Self.score, to: ("token", "old"), over: carrier).isSent)
            scene.advance(ms: 1_000)
            for token in ["unregistered", "expired", "apple", "old", "uninstalled"] {
                let verdict = try scene.send(Self.score, to: ("token", token), over: carrier)
                #expect(verdict.failure == "UNREGISTERED remove", "\(token)")
                #expect(scene.reply.text.contains("NotRegistered"))
            }
            #expect(try scene.send(Self.score, to: ("token", "new"), over: carrier).isSent)
        }
    }

    @Test("L52: a package that is not the token's gets InvalidPackageName")
    func invalidPackageName() throws {
        var scene = try Scene()
        scene.device("t", Device(package: "com.example"))
        let message = #"{"restricted_package_name":"com.other","data":{"a":"b"}}"#
        for carrier in Self.both {
            #expect(try scene.send(message, to: ("token", "t"), over: carrier).failure == Self.fixMessage)
            #expect(scene.reply.text.contains("InvalidPackageName"))
        }
        #expect(try scene.arrivals("t").isEmpty)
    }

    @Test("L55 L56: bad JSON and parameters of wrong names or types get a 400")
    func invalidJSON() throws {
        var scene = try Scene()
        #expect(scene.raw("{", over: .legacy).failure == Self.fixMessage)
        #expect(scene.reply.text.hasPrefix("JSON_PARSING_ERROR"))
        for body in [#"{"to":"t","colour":"red"}"#, #"{"to":"t","priority":"urgent"}"#] {
            #expect(scene.raw(body, over: .legacy).failure == Self.fixMessage)
            #expect(scene.reply.status == 400)
            #expect(scene.reply.text.hasPrefix("InvalidParameters"))
        }
    }

    @Test("L57: more than 4,096 bytes, or 2,048 to a topic, gets MessageTooBig")
    func messageTooBig() throws {
        var scene = try Scene()
        for (field, to, limit) in [("token", "t", 4_096), ("topic", "/topics/t", 2_048)] {
            func message(_ size: Int) -> String {
                let half = String(repeating: "k", count: size / 2)
                return #""data":{"\#(half)":"\#(String(repeating: "v", count: size - size / 2))"}"#
            }
            #expect(try scene.send("{\(message(limit))}", to: (field, "t"), over: .legacy).isSent)
            #expect(throws: Scene.Rejected.self) {
                try scene.send("{\(message(limit + 1))}", to: (field, "t"), over: .legacy)
            }
            let kind: RecipientKind = field == "topic" ? .topic : .token
            let raw = scene.raw(#"{"to":"\#(to)",\#(message(limit + 1))}"#, over: .legacy, kind: kind)
            #expect(raw.failure == Self.fixMessage)
            #expect(scene.reply.text.contains("MessageTooBig"))
        }
    }

    @Test("L58 L59: reserved keys and lifetimes beyond four weeks get their codes")
    func invalidValues() throws {
        var scene = try Scene()
        #expect(scene.raw(#"{"to":"t","data":{"from":"x"}}"#, over: .legacy).failure == Self.fixMessage)
        #expect(scene.reply.text.contains("InvalidDataKey"))
        for seconds in ["-1", "2419201", "1.5"] {
            #expect(throws: Scene.Rejected.self) {
                try scene.send(#"{"time_to_live":\#(seconds)}"#, to: ("token", "t"), over: .legacy)
            }
            #expect(scene.raw(#"{"to":"t","time_to_live":\#(seconds)}"#, over: .legacy).failure == Self.fixMessage)
            #expect(scene.reply.text.contains("InvalidTtl"))
            #expect(scene.raw("registration_id=t&time_to_live=\(seconds)", over: .plainText).failure == Self.fixMessage)
            #expect(scene.reply.text == "Error=InvalidTtl\n")
        }
    }

    @Test("L60 L61 L63: Unavailable and InternalServerError are retried with doubling waits and jitter")
    func retryableErrors() throws {
        for (token, error) in [("sbx-unavailable-3-t", ErrorCode.unavailable), ("sbx-internal-3-t", .internalError)] {
            for carrier in Self.both {
                var scene = try Scene(bareErrors: true)
                let first = try #require(try scene.send(Self.score, to: ("token", token), over: carrier).retry)
                // Plain text has no word for trouble of the server's: its status says all.
                #expect(first.failure.error == (carrier == .plainText ? .unavailable : error))
                #expect(first.scope == .recipient)
                let (waits, last) = try scene.tries(Self.score, to: ("token", token), over: carrier)
                #expect(waits == [10_000, 20_000])
                #expect(last.isSent)
            }
        }
        // Two that failed together do not come back together.
        var waits: Set<[Int64]> = []
        for random in [0, 0.3, 0.9] {
            var scene = try Scene()
            waits.insert(
                try scene.tries(Self.score, to: ("token", "sbx-unavailable-2-t"), over: .legacy, random: random).waits
            )
        }
        #expect(waits.count == 3)
    }

    @Test("L60: Retry-After is obeyed with status 200 too")
    func retryAfter() throws {
        var scene = try Scene()
        let retry = try #require(try scene.send(Self.score, to: ("token", "sbx-unavailable-1-t"), over: .legacy).retry)
        #expect(scene.reply.status == 200)
        #expect(retry.retryAfterMs == 1_000)
    }

    @Test("L64 L65: beyond the rate of a device or topic only that one waits, at least a minute")
    func rates() throws {
        for (target, error) in [
            (("token", "sbx-devicerate-2-t"), "DeviceMessageRateExceeded"),
            (("topic", "sbx-topicrate-2-t"), "TopicsMessageRateExceeded"),
        ] {
            var scene = try Scene(bareErrors: true)
            let (waits, last) = try scene.tries(Self.score, to: target, over: .legacy)
            #expect(waits == [60_000, 120_000])
            #expect(last.isSent)
            var again = try Scene(bareErrors: true)
            let retry = try #require(try again.send(Self.score, to: target, over: .legacy).retry)
            #expect(again.reply.text.contains(error))
            #expect(retry.failure.error == .quotaExceeded)
            #expect(retry.scope == (target.0 == "topic" ? .topic : .device))
        }
    }

    // MARK: Table 10

    @Test("L67 L68 L69 L70: a group request without operation, name, tokens, or key unless it creates, is refused")
    func groupKeys() throws {
        var scene = try Scene()
        let key = try scene.makeGroup("n", ["a"])
        for fields in [
            ["op": "group.create", "tokens": #"["a"]"#], ["op": "group.create", "group_name": "m"],
            ["op": "group.create", "group_name": "m", "tokens": #"["a"]"#, "group": key],
            ["op": "group.add", "group_name": "n", "tokens": #"["b"]"#],
            ["op": "group.remove", "group": key, "tokens": #"["a"]"#],
            ["op": "group.rename", "group_name": "n", "group": key, "tokens": #"["a"]"#],
        ] {
            #expect(throws: Scene.Rejected.self, "\(fields)") { try scene.intake(fields) }
        }
        let server = "key=" + Scene.project.serverKey
        for body in [
            #"{"operation":"create","registration_ids":["b"]}"#, #"{"operation":"create","notification_key_name":"m"}"#,
            #"{"operation":"add","notification_key_name":"n","registration_ids":["b"]}"#,
            #"{"operation":"add","notification_key":"\#(key)","registration_ids":["b"]}"#,
            #"{"operation":"remove","notification_key":"\#(key)","registration_ids":["a"]}"#,
            #"{"operation":"rename","notification_key_name":"n","notification_key":"\#(key)","registration_ids":["b"]}"#,
        ] {
            let request = WireRequest(method: .post, path: "/fcm/notification", body: Array(body.utf8))
            #expect(scene.perform(request, authorization: server).status == 400, "\(body)")
        }
        for op in [Operation.groupAdd, .groupRemove] {
            guard case .managed = try scene.group(op, name: "n", key: key, ["b"]) else {
                Issue.record("\(scene.reply.text)")
                return
            }
        }
    }

    @Test("L71: without its last member a group is gone")
    func lastMember() throws {
        var scene = try Scene()
        let key = try scene.makeGroup("n", ["a", "b"])
        guard case .managed = try scene.group(.groupRemove, name: "n", key: key, ["a", "b"]) else {
            Issue.record("\(scene.reply.text)")
            return
        }
        #expect(try scene.group(.groupGet, name: "n").failure == Self.fixMessage)
        #expect(try scene.reply.json()["error"] == "notification_key not found")
        #expect(try scene.send(Self.score, to: ("group", key), over: .legacy).isSent == false)
    }
}
