import FCMSimulator
import FCMWire
import FanfareCore
import FanfareJSON
import FanfareModel
import Testing

/// Throttling, rates, fan-outs and credentials.
extension AboutMessages {
    static let ping = #"{"android":{"collapse_key":"mail"},"data":{"sync":"mail"}}"#

    @Test("A61 A62 A64: after twenty collapsible messages one more is delivered every three minutes, and none is lost")
    func collapsibleThrottle() throws {
        var scene = try Scene()
        for _ in 1...20 { #expect(try scene.send(Self.ping, to: ("token", "t")).isSent) }
        #expect(try scene.arrivals("t").count == 20)
        let start = scene.nowMs
        for key in 1...3 {
            let message = #"{"android":{"collapse_key":"k\#(key)"},"data":{"sync":"mail"}}"#
            #expect(try scene.send(message, to: ("token", "t")).isSent)
        }
        for (sinceMs, count) in [(179_999, 20), (180_000, 21), (359_999, 21), (360_000, 22), (540_000, 23)] {
            scene.nowMs = start + Int64(sinceMs)
            #expect(try scene.arrivals("t").count == count)
        }
        // Another app's instance has a burst of its own.
        for _ in 1...20 { try scene.send(Self.ping, to: ("token", "u")) }
        #expect(try scene.arrivals("u").count == 20)
    }

    @Test("A63: a burst of messages that do not collapse is not throttled")
    func burstWithoutCollapsing() throws {
        var scene = try Scene()
        for _ in 1...100 { #expect(try scene.send(Self.data, to: ("token", "t")).isSent) }
        #expect(try scene.arrivals("t").count == 100)
    }

    @Test("A67: an Android device takes 240 messages a minute and 5,000 an hour")
    func deviceRate() throws {
        var scene = try Scene(bareErrors: true)
        let body = #"{"message":{"token":"t","data":{"a":"b"}}}"#
        for _ in 1...240 { #expect(scene.raw(body).isSent) }
        let retry = try #require(try scene.send(Self.data, to: ("token", "t")).retry)
        #expect(retry.failure.error == .quotaExceeded)
        #expect(retry.scope == .device)
        #expect(retry.floorMs == 60_000)
        // One device's trouble alone.
        #expect(try scene.send(Self.data, to: ("token", "u")).isSent)
        var sent = 240
        for _ in 2...21 {
            scene.advance(ms: 60_000)
            for _ in 1...240 where scene.raw(body).isSent { sent += 1 }
        }
        #expect(sent == 5_000)
        scene.advance(ms: 3_600_000)
        #expect(try scene.send(Self.data, to: ("token", "t")).isSent)
    }

    @Test("A68: beyond an Apple device's rate a send is refused for that device")
    func appleRate() throws {
        var scene = try Scene()
        scene.device("t", Device(platform: .apple, ratePerMinute: 10))
        for _ in 1...10 { #expect(try scene.send(Self.notification, to: ("token", "t")).isSent) }
        for carrier in [Scene.Carrier.v1, .legacy] {
            let retry = try #require(try scene.send(Self.notification, to: ("token", "t"), over: carrier).retry)
            #expect(retry.failure.error == .quotaExceeded)
            #expect(retry.scope == .device)
        }
    }

    @Test("A71: a project changes 3,000 subscriptions a second; further ones are retried")
    func subscriptionRate() throws {
        var scene = try Scene()
        var verdicts: [Verdict] = []
        for batch in 0..<4 {
            verdicts += try scene.change(.subscribe, topic: "news", (0..<1_000).map { "t\(batch)-\($0)" })
        }
        #expect(verdicts.filter(\.isSent).count == 3_000)
        #expect(verdicts.suffix(1_000).allSatisfy { $0.retry?.failure.error == .quotaExceeded })
        scene.advance(ms: 1_000)
        #expect(try scene.change(.unsubscribe, topic: "news", ["t0-0"]).map(\.isSent) == [true])
    }

    // MARK: Fan-outs

    @Test("A72 A73: sends to a topic, a condition and a group are fan-outs that take time")
    func fanout() throws {
        var scene = try Scene(fanoutRate: 10)
        for name in ["a", "b"] { scene.device(name, Device(topics: ["news"])) }
        let group = try scene.makeGroup("n", ["a", "b"])
        #expect(try scene.send(Self.data, to: ("topic", "news")).isSent)
        #expect(try scene.send(Self.data, to: ("condition", "'news' in topics")).isSent)
        _ = try scene.send(Self.data, to: ("group", group))
        #expect(try scene.statistic("max_active_fanouts") == 3)
        #expect(try scene.fanoutTimes() == [nil, nil, nil])
        scene.advance(ms: 600)
        #expect(try scene.fanoutTimes() == [600, 600, 600])
        #expect(try scene.arrivals("a").count == 3)
    }

    @Test("A74: beyond a thousand active fan-outs the next is refused, or waits until one ends")
    func thousandFanouts() throws {
        for defers in [false, true] {
            var scene = try Scene(defersFanouts: defers)
            scene.audience("long", of: 1_000_000)
            scene.audience("short", of: 10)
            try scene.send(Self.data, to: ("topic", "short"))
            for _ in 1...999 { #expect(try scene.send(Self.data, to: ("topic", "long")).isSent) }
            let verdict = try scene.send(Self.data, to: ("topic", "long"))
            #expect(verdict.isSent == defers)
            #expect(verdict.retry?.failure.error == (defers ? nil : .quotaExceeded))
            #expect(try scene.statistic("max_active_fanouts") == 1_000)
            scene.advance(ms: 2_000)
            if defers {
                #expect(try scene.fanouts().last?["started_ms"] != .null)
            } else {
                #expect(try scene.send(Self.data, to: ("topic", "long")).isSent)
            }
        }
    }

    @Test("A75: a fan-out reaches 10,000 devices a second, or the configured rate")
    func fanoutRate() throws {
        for (rate, expected) in [(10_000, Int64(50_000)), (2_500, 200_000)] {
            var scene = try Scene(fanoutRate: rate)
            scene.audience("news", of: 500_000)
            try scene.send(Self.data, to: ("topic", "news"))
            scene.advance(ms: 300_000)
            #expect(try scene.fanoutTimes() == [expected])
        }
    }

    /// That the worker lets them go in turn is shown where the slot is.
    @Test("A76 A77: two fan-outs at once have half the rate each; in turn the first ends sooner and the last no later")
    func sharedRate() throws {
        var together = try Scene()
        together.audience("news", of: 500_000)
        for _ in 1...2 { try together.send(Self.data, to: ("topic", "news")) }
        together.advance(ms: 200_000)
        #expect(try together.fanoutTimes() == [100_000, 100_000])

        // In turn: the next is sent when the first is over.
        var scene = try Scene()
        scene.audience("news", of: 500_000)
        let start = scene.nowMs
        for _ in 1...2 {
            try scene.send(Self.data, to: ("topic", "news"))
            scene.advance(ms: 50_000)
        }
        let ends = try scene.fanouts().compactMap { $0["finished_ms"]?.number?.int64 }.map { $0 - start }
        #expect(ends == [50_000, 100_000])
        #expect(try scene.statistic("max_active_fanouts") == 1)
    }

    // MARK: Credentials

    @Test("A79 A82: v1 takes the project's id or number and an access token, which expires")
    func accessToken() throws {
        var scene = try Scene()
        let body = Array(#"{"message":{"token":"t","data":{"a":"b"}}}"#.utf8)
        for project in ["demo", Scene.project.senderID] {
            #expect(scene.post(body, over: .v1, project: project).status == 200)
        }
        #expect(scene.post(body, over: .v1, project: "unknown").status == 404)
        #expect(scene.post(body, over: .v1, project: "other").status == 403)
        let token = try scene.requestToken(for: Scene.project)
        #expect((1...3_600).contains(token.expiresInSeconds))
        #expect(throws: TokenError.self) { try scene.requestToken(for: Scene.project, isSigned: false) }
        scene.nowMs += 3_600_001
        let late = scene.raw(#"{"message":{"token":"t","data":{"a":"b"}}}"#)
        guard case .refreshCredential = late else {
            Issue.record("\(late)")
            return
        }
        scene.accessToken = try scene.requestToken(for: Scene.project).value
        #expect(try scene.send(Self.data, to: ("token", "t")).isSent)
    }

    @Test("A80: a registration token names one app instance, and no error text repeats it")
    func registrationToken() throws {
        var scene = try Scene()
        try scene.send(Self.data, to: ("token", "t1"))
        #expect(try scene.arrivals("t1").count == 1)
        #expect(try scene.arrivals("t2").isEmpty)
        // A reason is read by many, and holds no token, not even a bad one.
        #expect(throws: Scene.Rejected(reason: "token: byte 3 is not one of A-Z a-z 0-9 _ : . -")) {
            try scene.send(Self.data, to: ("token", "not a token"))
        }
        #expect(try scene.send(Self.data, to: ("token", "sbx-invalid-1")).failure == "INVALID_ARGUMENT remove")
    }

    @Test("A81: only the senders that an app registered with may send to it")
    func senders() throws {
        var scene = try Scene()
        scene.device("ours", Device(senders: [Scene.project.senderID]))
        scene.device("theirs", Device(senders: [Scene.other.senderID]))
        for carrier in Scene.Carrier.allCases {
            let message = #"{"data":{"a":"b"}}"#
            #expect(try scene.send(message, to: ("token", "ours"), over: carrier).isSent)
            let verdict = try scene.send(message, to: ("token", "theirs"), over: carrier)
            #expect(verdict.failure == "SENDER_ID_MISMATCH fix_credentials")
        }
    }

    /// The groups document prints a server key that begins as keys of apps do, so a key's look decides nothing.
    @Test("A83 A84: the legacy protocols accept the server key and refuse the keys of apps and browsers")
    func serverKey() throws {
        let looks = "AIza" + "SyZ-1uGBYzPu7Udno5aAaaaaaaaaaaaaaa"
        let appKey = "AIza" + "SyAndroidAppleBrowserKeyaaaaaaaaaaaa"
        for serverKey in [Scene.project.serverKey, looks] {
            var project = Scene.project
            project.serverKey = serverKey
            project.appKeys = [appKey]
            var scene = try Scene()
            scene.simulator = Simulator(configuration: SimulatorConfiguration(projects: [project]))
            for (carrier, text) in [(Scene.Carrier.legacy, #"{"to":"t"}"#), (.plainText, "registration_id=t")] {
                let body = Array(text.utf8)
                #expect(scene.post(body, over: carrier, authorization: "key=" + serverKey).status == 200)
                for key in ["key=" + appKey, "key=unknown", "key=", "Bearer " + serverKey] {
                    let reply = scene.post(body, over: carrier, authorization: key)
                    #expect(reply.status == 401)
                    #expect(reply.text.contains("one for apps") == key.hasSuffix(appKey), "\(key)")
                    let verdict = scene.verdict(reply.outcome, kind: .token, recipient: "t", over: carrier)
                    guard case .blockProject = verdict else {
                        Issue.record("\(verdict)")
                        return
                    }
                }
            }
            let create = GroupOperation.request(.groupCreate, name: "n", key: "", tokens: ["t"])
            #expect(scene.perform(create, authorization: "key=" + serverKey).status == 200)
            #expect(scene.perform(create, authorization: "key=" + appKey).status == 401)
            #expect(try scene.connect(password: serverKey).isReady)
            #expect(try scene.connect(password: appKey).isReady == false)
        }
    }

    @Test("A78: the page names the ports, host names and timeouts that devices need")
    func networkOfDevices() throws {
        let rows = Documentation.tableRows(try Documentation.page("Networks"))
        func rule(_ what: String) throws -> String { try #require(rows.first { $0[0].hasPrefix(what) })[1] }
        let ports = try rule("ports").matches(of: /[0-9]+/).compactMap { Int($0.output) }
        #expect(ports == [5_228, 5_229, 5_230, 443])
        #expect(try rule("addresses").contains("[goog.json](https://www.gstatic.com/ipranges/goog.json)"))
        #expect(try rule("addresses").contains("renewed every month"))
        #expect(try rule("NAT").contains("at least 30 minutes"))
        // "alt1-… to alt8-…" is short for eight.
        let named = try rule("host names").matches(of: /`([a-z0-9.-]+)`/).map { String($0.1) }
        let hosts = Set(named).union((1...8).map { "alt\($0)-mtalk.google.com" })
        let others = [
            "mtalk", "mtalk4", "mtalk-staging", "mtalk-dev", "android.apis",
        ].map { $0 + ".google.com" }
        let apis = ["device-provisioning", "firebaseinstallations"].map { $0 + ".googleapis.com" }
        #expect(hosts == Set(others + apis + (1...8).map { "alt\($0)-mtalk.google.com" }))
        #expect(named.contains("alt1-mtalk.google.com") && named.contains("alt8-mtalk.google.com"))
    }
}
