import FCMWire
import FanfareJSON
import FanfareModel
import Testing

/// Lifetimes, and what becomes of a message after it was accepted.
extension AboutMessages {
    static let weeksMs: Int64 = 28 * 86_400_000
    static let lifetime = #"""
        {"data":{"Nick":"Mario","body":"great match!","Room":"PortugalVSDenmark"},
         "apns":{"headers":{"apns-expiration":"1604750400"}},"android":{"ttl":"4500s"},
         "webpush":{"headers":{"TTL":"4500"}}}
        """#

    @Test("A46: intake and FCM refuse a lifetime that is not 0 to 2,419,200 seconds")
    func lifetimeRange() throws {
        var scene = try Scene()
        for seconds in ["0", "2419200"] {
            #expect(try scene.send(#"{"data":{"a":"b"},"android":{"ttl":"\#(seconds)s"}}"#, to: ("token", "t")).isSent)
            let web = #"{"data":{"a":"b"},"webpush":{"headers":{"TTL":"\#(seconds)"}}}"#
            #expect(try scene.send(web, to: ("token", "sbx-web-1")).isSent)
        }
        for seconds in ["-1", "2419201"] {
            for block in [#""android":{"ttl":"\#(seconds)s"}"#, #""webpush":{"headers":{"TTL":"\#(seconds)"}}"#] {
                #expect(throws: Scene.Rejected.self) { try scene.send("{\(block)}", to: ("token", "t")) }
                #expect(scene.raw(#"{"message":{"token":"t",\#(block)}}"#).failure == Self.fixMessage)
            }
        }
    }

    @Test("A47 A56: a lifetime that is not given is four weeks; then the message expires")
    func defaultLifetime() throws {
        for (wait, count) in [(Self.weeksMs - 1, 1), (Self.weeksMs, 0)] {
            var scene = try Scene()
            scene.device("t", Device(isOnline: false))
            #expect(try scene.send(#"{"data":{"a":"b"}}"#, to: ("token", "t")).isSent)
            scene.advance(ms: wait)
            scene.device("t", Device(isOnline: true))
            #expect(try scene.arrivals("t").count == count)
            #expect(try scene.dropped("expired") == Int64(1 - count))
        }
    }

    @Test("A50 A56: the example's lifetimes, 75 minutes on Android and the web and a past date on Apple, are kept")
    func lifetimeExample() throws {
        for (wait, count) in [(Int64(4_499_999), 1), (4_500_000, 0)] {
            var scene = try Scene()
            for platform in ["android", "web", "apple"] {
                scene.device(platform, Device(platform: .named(platform), isOnline: false))
                #expect(try scene.send(Self.lifetime, to: ("token", platform)).isSent)
            }
            // In 2020: now or never.
            #expect(try scene.dropped("now_or_never") == 1)
            scene.advance(ms: wait)
            for platform in ["android", "web", "apple"] { scene.device(platform, Device(isOnline: true)) }
            #expect(try scene.arrivals("android").count == count)
            #expect(try scene.arrivals("web").count == count)
            #expect(try scene.arrivals("apple").isEmpty)
        }
        var scene = try Scene()
        for platform in ["android", "web", "apple"] {
            scene.device(platform, Device(platform: .named(platform)))
            try scene.send(Self.lifetime, to: ("token", platform))
        }
        #expect(try scene.arrival("android").payload["google.ttl"] == 4_500)
        #expect(try scene.arrival("web").headers["TTL"] == "4500")
        #expect(try scene.arrival("apple").headers["apns-expiration"] == "1604750400")
    }

    @Test("A48: a lifetime of 0 is never throttled")
    func nowOrNeverIsNotThrottled() throws {
        var scene = try Scene()
        for _ in 1...60 {
            let message = #"{"data":{"a":"b"},"android":{"ttl":"0s","collapse_key":"k"}}"#
            #expect(try scene.send(message, to: ("token", "t")).isSent)
        }
        #expect(try scene.arrivals("t").count == 60)
        // With any lifetime the same burst is throttled.
        for _ in 1...60 { try scene.send(Self.ping, to: ("token", "u")) }
        #expect(try scene.arrivals("u").count == 20)
        // What protects a device from its sender (A67) makes no exception.
        let urgent = #"{"data":{"a":"b"},"android":{"ttl":"0s"}}"#
        for _ in 1...240 { #expect(try scene.send(urgent, to: ("token", "v")).isSent) }
        #expect(try scene.send(urgent, to: ("token", "v")).retry?.scope == .device)
    }

    @Test("A85: the page names a short lifetime for each use, and each expires the message in time")
    func shortLifetimes() throws {
        let page = try Documentation.page("Producers")
        let uses = Documentation.tableRows(page).filter { $0.count == 2 && $0[1].contains("ttl") }
        #expect(uses.map { $0[0] } == ["a call that rings", "an invitation that ends", "a calendar's reminder"])
        for use in uses {
            let ttl = try #require(use[1].firstMatch(of: /`"ttl":"([0-9]+)s"`/)?.1)
            var scene = try Scene()
            scene.device("t", Device(isOnline: false))
            let job = try scene.intake(["token": "t", "message": #"{"data":{"a":"b"},"android":{"ttl":"\#(ttl)s"}}"#])
            _ = try scene.attempt(job, recipient: "t", over: .v1)
            scene.advance(ms: try #require(Int64(ttl)) * 1_000)
            scene.device("t", Device(isOnline: true))
            #expect(try scene.arrivals("t").isEmpty, "\(use)")
        }
    }

    @Test("A57 R9: the label for FCM's reports arrives, and the page says which report counts what")
    func reports() throws {
        var scene = try Self.threePlatforms()
        let message = #"{"notification":{"title":"t"},"fcm_options":{"analytics_label":"spring"}}"#
        for token in ["android", "apple", "web"] {
            try scene.send(message, to: ("token", token))
            #expect(try scene.arrival(token).text.contains(#""spring""#), "\(token)")
        }
        let rows = Documentation.tableRows(try Documentation.page("Guarantees"))
        let reports = try #require(rows.first { $0[0].contains("console's reports") })
        for word in ["sent", "received", "shown", "opened"] { #expect(reports[1].contains(word)) }
        #expect(rows.contains { $0[0].contains("BigQuery") && $0[1].contains("analyticsLabel") })
    }

    @Test("A49: a message with a lifetime of 0 is delivered at once or dropped, and a worker tries it once")
    func nowOrNever() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        let message = #"{"data":{"a":"b"},"android":{"ttl":"0s"}}"#
        #expect(try scene.send(message, to: ("token", "t")).isSent)
        #expect(try scene.statistic("stored") == 0)
        #expect(try scene.dropped("now_or_never") == 1)
        scene.device("t", Device(isOnline: true))
        #expect(try scene.arrivals("t").isEmpty)
        let job = try scene.intake(["message": message, "token": "t"])
        let template = try RequestTemplate(
            SourceMessage(job.message, format: job.format, validateOnly: false, delivery: job.delivery, jobID: job.id),
            transport: .v1
        )
        #expect(template.lifetime?.milliseconds(firstAttemptMs: scene.nowMs) == 0)
    }

    @Test("A45 A51 A55: accepted messages wait for an offline device and come together when it connects")
    func acceptedIsNotDelivered() throws {
        var scene = try Scene()
        scene.device("t", Device(isOnline: false))
        for line in 1...3 {
            let verdict = try scene.send(#"{"data":{"line":"\#(line)"}}"#, to: ("token", "t"))
            #expect(verdict.messageID?.hasPrefix("projects/demo/messages/") == true)
        }
        let collapsible = #"{"data":{"line":"4"},"android":{"collapse_key":"k"}}"#
        for _ in 1...2 { try scene.send(collapsible, to: ("token", "t")) }
        #expect(try scene.arrivals("t").isEmpty)
        #expect(try scene.statistic("accepted") == 5)
        scene.advance(ms: 3_600_000)
        scene.device("t", Device(isOnline: true))
        let arrivals = try scene.arrivals("t")
        #expect(Set(arrivals.compactMap { $0.payload["line"]?.string }) == ["1", "2", "3", "4"])
        #expect(arrivals.allSatisfy { $0.timeMs == scene.nowMs })
    }

    @Test("A52: a connected device that is awake gets a message at once")
    func deliveredAtOnce() throws {
        var scene = try Scene()
        let id = try scene.send(Self.data, to: ("token", "t")).messageID
        let arrival = try scene.arrival("t")
        #expect(arrival.timeMs == scene.nowMs)
        let name = try #require(arrival.payload["google.message_id"]?.string)
        #expect(id == "projects/demo/messages/" + name)
    }

    @Test("A58 A59: messages to a device silent for a month are dropped; it is told for four weeks after the last")
    func inactiveDevice() throws {
        for (wait, isTold) in [(Self.weeksMs - 1, true), (Self.weeksMs + 1, false)] {
            var scene = try Scene()
            scene.device("t", Device(inactiveDays: 31))
            #expect(try scene.send(Self.data, to: ("token", "t")).isSent)
            #expect(try scene.statistic("stored") == 0)
            #expect(try scene.dropped("inactive") == 1)
            scene.advance(ms: wait)
            scene.device("t", Device(isOnline: true))
            #expect(try scene.arrivals("t").map(\.isDeletedMessages) == (isTold ? [true] : []))
        }
        // A shorter silence is no reason.
        var scene = try Scene()
        scene.device("t", Device(inactiveDays: 29))
        try scene.send(Self.data, to: ("token", "t"))
        #expect(try scene.statistic("stored") == 1)
    }

    @Test("A60: the first delivery after an uninstallation is lost, and the next send is refused as unregistered")
    func uninstalled() throws {
        for carrier in Scene.Carrier.allCases {
            var scene = try Scene()
            scene.device("t", Device(state: .uninstalled))
            let message = #"{"data":{"a":"b"}}"#
            #expect(try scene.send(message, to: ("token", "t"), over: carrier).isSent)
            #expect(try scene.arrivals("t").isEmpty)
            #expect(try scene.dropped("uninstalled") == 1)
            #expect(try scene.send(message, to: ("token", "t"), over: carrier).failure == "UNREGISTERED remove")
            let words: [Scene.Carrier: String] = [.v1: "UNREGISTERED", .xmpp: "DEVICE_UNREGISTERED"]
            #expect(scene.reply.text.contains(words[carrier] ?? "NotRegistered"))
        }
    }
}
