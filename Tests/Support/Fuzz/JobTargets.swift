import FanfareJSON
import FanfareModel
import RedisTransport

@testable import FCMWire
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareReceiving

/// Parsers of input from producers, operators and apps.
extension FuzzTarget {
    private static let messages = [
        #"{"notification":{"title":"t","body":"b"},"data":{"k":"v"},"android":{"ttl":"3.5s","priority":"high"}}"#,
        #"{"apns":{"headers":{"apns-expiration":"1"},"payload":{"aps":{"alert":{"title":"t"},"badge":1}}}}"#,
        #"{"webpush":{"headers":{"TTL":"4"},"fcm_options":{"link":"https://h/"}},"fcmOptions":{"analyticsLabel":"l"}}"#,
        #"{"collapse_key":"c","time_to_live":60,"priority":"high","data":{"k":"v"},"notification":{"title_loc_args":"[]"}}"#,
    ]

    /// Fields are separated by byte 0, names from values by the first `=`.
    private static func fields(_ bytes: [UInt8]) -> [(name: String, value: [UInt8])] {
        bytes.split(separator: 0, omittingEmptySubsequences: false).map { field in
            let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (String(decoding: parts[0], as: UTF8.self), parts.count > 1 ? Array(parts[1]) : [])
        }
    }

    static let jobEntry = FuzzTarget(
        name: "entry",
        seeds: messages.map { "token=a:b\u{0}message=\($0)" } + [
            "tokens=[\"a\",\"b\"]\u{0}message={}\u{0}id=x\u{0}priority=9\u{0}expires_at=1772352000000\u{0}delivery=replace",
            "condition='a' in topics && ('b' in topics || 'c' in topics)\u{0}message={}\u{0}results=all",
            "op=group.create\u{0}group_name=n\u{0}tokens=[\"a\"]", "audience=l:{demo}\u{0}message={}",
            "token=a\u{0}message={}\u{0}traceparent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\u{0}tracestate=a=1",
        ]
    ) { bytes in
        for transport in [Transport.v1, .legacy, .xmpp] {
            let validator = IntakeValidator(
                transport.traits(),
                hasSenderID: true,
                projectKeyTag: "{demo}",
                prefix: "fanfare"
            )
            guard case .reject(let id, let reason) = validator.decide(entryID: "1-1", fields: fields(bytes)) else {
                continue
            }
            check(!id.isEmpty && id.utf8.count <= 128, "a rejected job has an id")
            check(reason.contains(": "), "a reason has the form 'path: rule': \(reason)")
            check(reason.unicodeScalars.count <= 2_000, "a reason is short")
            check(reason.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "a reason is clean")
        }
    }

    /// A message that intake accepts can be sent over every transport.
    static let translation = FuzzTarget(name: "translation", seeds: messages) { bytes in
        for format in MessageFormat.allCases {
            for transport in [Transport.v1, .legacy] {
                guard
                    let template = try? RequestTemplate(
                        SourceMessage(bytes, format: format, validateOnly: false, delivery: .replace, jobID: "j"),
                        transport: transport
                    )
                else { continue }
                var body: [UInt8] = []
                template.render(kind: .token, recipient: "a:b", nowMs: 0, into: &body)
                check((try? JSONParser.parse(body))?.object != nil, "a body is a JSON object")
            }
            _ = try? XMPPTemplate(
                SourceMessage(bytes, format: format, validateOnly: true, delivery: .replace, jobID: "j")
            )
            if let text = try? PlainTextTemplate(
                SourceMessage(bytes, format: format, validateOnly: false, delivery: .atLeastOnce, jobID: "j")
            ) {
                var body: [UInt8] = []
                text.render(token: "a:b", into: &body)
                check(body.allSatisfy { (0x21...0x7E).contains($0) }, "a form is printable")
            }
        }
    }

    static let condition = FuzzTarget(
        name: "condition",
        seeds: ["'a' in topics && ('b' in topics || !('c' in topics))", "((((((((((", "'a'in topics"]
    ) { bytes in _ = try? ConditionParser.check(bytes, limits: TransportTraits.v1.conditions) }

    static let yaml = FuzzTarget(
        name: "yaml",
        seeds: [
            "redis: { url: \"redis://u:SECRET@h:1/0\" }\nprojects:\n  demo:\n    transport: v1\n    credentials: a.json\n",
            "projects: { a: { endpoint: https://evil } }\nallowed_hosts: [evil]\nlog: { level: info }\n",
            "a: &a [*a]\n", "a: &a {b: c}\nd: *a\n<<: *a\n", "- x", "? [a]\n: b",
        ]
    ) { bytes in
        guard let text = String(validating: bytes, as: UTF8.self) else { return }
        _ = try? Configuration.load(yaml: text)
    }

    static let redisURL = FuzzTarget(
        name: "redis-url",
        seeds: ["redis://u:p@h:1/0", "rediss://[::1]:6379?db=3", "unix://:p%40@/run/x.sock?db=1"]
    ) { bytes in
        guard let endpoint = try? RedisEndpoint(url: String(decoding: bytes, as: UTF8.self)) else { return }
        let other = RedisEndpoint(
            address: endpoint.address,
            usesTLS: endpoint.usesTLS,
            user: endpoint.user,
            password: "another",
            database: endpoint.database
        )
        check("\(endpoint)" == "\(other)", "a password is not shown")
    }

    static let userInfo = FuzzTarget(
        name: "user-info",
        seeds: [
            #"{"aps":{"alert":{"title":"t","loc-args":["a"]},"sound":{"critical":1}},"gcm.message_id":"1","k":{"l":[1.5]}}"#
        ]
    ) { bytes in
        guard let first = try? ReceivedNotification(json: bytes) else { return }
        // The same values without their types, as Apple's frameworks pass them.
        guard let object = (try? JSONParser.parse(bytes))?.object, let plain = plain(.object(object), depth: 0) else {
            return
        }
        guard let dictionary = plain as? [AnyHashable: Any] else { return }
        let second = ReceivedNotification(userInfo: dictionary)
        check(first.messageID == second.messageID || object.members.count != dictionary.count, "both forms agree")
    }

    private static func plain(_ value: JSONValue, depth: Int) -> Any? {
        guard depth < 40 else { return nil }
        switch value {
        case .null: return nil
        case .bool(let flag): return flag
        case .number(let number): return number.int64 ?? 0
        case .string(let text): return text
        case .array(let elements): return elements.compactMap { plain($0, depth: depth + 1) }
        case .object(let object):
            var dictionary: [AnyHashable: Any] = [:]
            for member in object.members { dictionary[member.key] = plain(member.value, depth: depth + 1) }
            return dictionary
        }
    }

    static let serviceAccount = FuzzTarget(
        name: "service-account",
        seeds: [
            #"{"type":"service_account","project_id":"p","client_email":"a@b","private_key":"SECRET","token_uri":"#
                + #""https://oauth2.googleapis.com/token"}"#,
            #"{"type":"external_account","audience":"//iam","subject_token_type":"t","credential_source":"#
                + #"{"file":"/t","headers":{"A":"b"}},"client_id":"c","client_secret":"SECRET"}"#,
            #"{"type":"impersonated_service_account","service_account_impersonation_url":"#
                + #""https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b:generateAccessToken","#
                + #""source_credentials":{"type":"authorized_user","client_id":"c","client_secret":"SECRET","#
                + #""refresh_token":"SECRET"},"delegates":["d@e"]}"#,
        ]
    ) { bytes in
        do throws(CredentialError) {
            let credential = try Credential.parse(bytes)
            for url in credential.urls {
                check(url.url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a URL is printable")
            }
        } catch {
            check(!"\(error)".contains("SECRET"), "an error shows nothing of the file")
        }
    }
}
