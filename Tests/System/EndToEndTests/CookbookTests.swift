import Foundation
import TestSupport
import Testing

/// Runs each recipe of the page Cookbook as it stands there, against a sandbox, a worker and Redis.
@Suite(.enabled(if: Kitchen.python != nil, "FANFARE_SDK_PYTHON names no Python with redis-py"))
struct CookbookTests {
    private static let million = "A million recipients from SQL"
    private static let code = "A one-time code"
    private static let topics = "Subscribers of a topic"
    private static let dead = "Delete dead tokens from SQL"
    private static let priorities = "Priorities"
    private static let zones = "A campaign per time zone"
    private static let personal = "Personal messages"
    private static let cron = "Once a day with cron"
    private static let outbox = "An SQL outbox"
    private static let rejected = "Rejected jobs"

    /// Runs a test with a sandbox, a worker and a kitchen.
    private func withKitchen(
        transport: String = "v1",
        _ body: (Rig, Kitchen, String) async throws -> Void
    ) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let iid = "iid_endpoint: https://localhost:\(rig.tlsPort)"
            let configuration = try rig.configuration(transport: transport, project: iid)
            try await rig.startWorker(configuration)
            try await body(rig, Kitchen(rig, configuration: configuration), configuration)
        }
    }

    private func audiences(_ rig: Rig) throws -> [String] {
        try rig.redis.cli("--scan", "--pattern", "audience:*").split(separator: "\n").map(String.init)
    }

    @Test func everyRecipeHasATest() {
        let tested = [
            Recipe.start, Self.million, Self.code, Self.topics, Self.dead, Self.priorities, Self.zones, Self.personal,
            Self.cron, Self.outbox, Self.rejected,
        ]
        #expect(Recipe.sections.map(\.title) == tested)
    }

    @Test(arguments: [Recipe.Language.bash, .python])
    func audienceFromSQLIsSentAndItsListDeleted(language: Recipe.Language) async throws {
        try await withKitchen { rig, kitchen, _ in
            try kitchen.addDevices((0..<2_500).map { ("token-\($0)", "Europe/Madrid") })
            let output = try await kitchen.cook(Recipe(Self.million, language))
            let job = try await rig.finished("news-42")
            #expect(job["state"] == "done" && job["sent"] == "2500", "\(job)")
            if language == .python { #expect(output == "done: 2500 of 2500 sent\n") }
            #expect(try audiences(rig) == [])
            #expect(try await rig.deliveries("token-2499").count == 1)
        }
    }

    @Test func oneTimeCodeIsSentAtMostOnce() async throws {
        try await withKitchen { rig, kitchen, _ in
            #expect(try await kitchen.cook(Recipe(Self.code, .python)) == "sent\n")
            let job = try await rig.finished("login-8f41")
            let (pushed, end) = (Int64(job["created_ms"] ?? "") ?? 0, Int64(job["expires_at"] ?? "") ?? 0)
            #expect(job["delivery"] == "at_most_once" && (298_000...301_000).contains(end - pushed), "\(job)")
            let received = try await rig.deliveries("cAbc:APA91b")
            #expect(received.count == 1 && received.allSatisfy { $0.contains("294713") }, "\(received)")

            // FCM's answer is lost: no second send.
            let changes = ["cAbc:APA91b": "sbx-lost-1-phone", "login-8f41": "login-8f42"]
            let lost = try await kitchen.cook(Recipe(Self.code, .python, changing: changes))
            #expect(lost == "offer to send a new code\n")
            #expect(try await rig.finished("login-8f42")["unknown"] == "1")
            #expect(try await rig.deliveries("sbx-lost-1-phone").count == 1)
        }
    }

    @Test func topicReachesItsSubscribersWithTheGivenEstimate() async throws {
        try await withKitchen { rig, kitchen, _ in
            try await kitchen.cook(Recipe(Self.topics, .bash))
            let job = try await rig.finished("final")
            #expect(job["sent"] == "1" && job["audience_estimate"] == "120000" && job["audience_source"] == "job")
            for token in ["cAbc:APA91b", "dDef:APA91b"] {
                try await Wait.until("the score on \(token)") { try await rig.deliveries(token).count == 1 }
            }
        }
    }

    @Test(arguments: ["", "?protocol=3"]) func feedbackChangesTheDatabase(query: String) async throws {
        try await withKitchen(transport: "legacy") { rig, kitchen, _ in
            let tokens = ["a", "sbx-unregistered-b", "sbx-canonical-c", "sbx-invalid-d"]
            try kitchen.addDevices(tokens.map { ($0, "Europe/Madrid") })
            let cleaner = try Recipe(Self.dead, .python)
            try await kitchen.cook(cleaner, query: query)
            try await rig.push(["id": "j", "message": #"{"data":{"k":"v"}}"#, "tokens": Rig.tokens(tokens)])
            try await rig.finished("j")
            // An earlier run crashed after reading one entry.
            _ = try rig.redis.cli(
                "XREADGROUP",
                "GROUP",
                "token-cleaner",
                "one",
                "COUNT",
                "1",
                "STREAMS",
                "fanfare:{demo}:feedback",
                ">"
            )
            try await kitchen.cook(cleaner, query: query)
            #expect(try kitchen.sql("SELECT token FROM devices ORDER BY token;") == "a\ncanon-c\n")
            let groups = try rig.redis.cli("XINFO", "GROUPS", "fanfare:{demo}:feedback")
            #expect(groups.contains("pending\n0\n") && groups.hasSuffix("lag\n0"), "\(groups)")
        }
    }

    @Test func higherPriorityIsSentFirst() async throws {
        try await withKitchen { rig, kitchen, configuration in
            let tokens = (0..<1_500).map { "token-\($0)" }
            _ = try rig.redis.cli(["RPUSH", "audience:{demo}:all"] + tokens)
            try await rig.fanfare(configuration, ["project", "pause", "demo"])
            try await kitchen.cook(Recipe(Self.priorities, .bash))
            for job in ["digest", "breaking"] {
                try await Wait.until("\(job) to wait") { try await rig.job(job)["state"] == "waiting" }
            }
            try await rig.fanfare(configuration, ["project", "resume", "demo"])
            var passes: [String: Int64] = [:]
            for job in ["digest", "breaking"] {
                passes[job] = Int64(try await rig.finished(job)["first_pass_ms"] ?? "")
            }
            #expect(try #require(passes["breaking"]) <= #require(passes["digest"]), "\(passes)")
        }
    }

    @Test func campaignWaitsForTheMorningOfEachZone() async throws {
        try await withKitchen { rig, kitchen, _ in
            // The last two are a day apart, and show one UTC time.
            let zones = ["Europe/Madrid": 1_200, "Asia/Tokyo": 2, "Pacific/Honolulu": 1, "Pacific/Kiritimati": 3]
            try kitchen.addDevices(
                zones.flatMap { zone, count in (0..<count).map { ("\(zone.filter(\.isLetter))-\($0)", zone) } }
            )
            let ids = try await kitchen.cook(Recipe(Self.zones, .bash)).split(separator: "\n").map(String.init)
            #expect(ids.count == zones.count && ids.allSatisfy { $0.hasPrefix("sale-") }, "\(ids)")
            try await Wait.until("the jobs") { try rig.redis.cli("XLEN", "fanfare:{demo}:jobs") == "0" }
            let day = try #require(ids.first).dropFirst("sale-".count).prefix("2027-01-31".count)
            for (zone, count) in zones {
                let style = Date.ISO8601FormatStyle(timeZone: try #require(TimeZone(identifier: zone)))
                let morning = try style.year().month().day().time(includingFractionalSeconds: false)
                    .parse("\(day)T09:00:00")
                let start = Int64(morning.timeIntervalSince1970) * 1_000
                let utc = morning.formatted(Date.ISO8601FormatStyle(timeSeparator: .omitted)).dropFirst(11).prefix(4)
                let side = zone == "Pacific/Kiritimati" ? ".east" : ""
                let job = try await rig.job("sale-\(day).\(utc)Z\(side)")
                #expect(job["state"] == "scheduled" && job["total"] == "\(count)", "\(zone): \(job)")
                #expect(job["not_before"] == "\(start)" && job["expires_at"] == "\(start + 43_200_000)", "\(zone)")
            }
        }
    }

    @Test func personalMessagesAreSentBehindTheirCanary() async throws {
        try await withKitchen { rig, kitchen, _ in
            let others = (0..<1_198).map { "('token-\($0)',NULL,NULL)" }
            let rows = ["('ana','Ana','es-MX')", "('bo','Bo',NULL)"] + others
            try kitchen.sql(
                """
                CREATE TABLE customers(token TEXT PRIMARY KEY, name TEXT, language TEXT);
                INSERT INTO customers VALUES \(rows.joined(separator: ","));
                """
            )
            try await kitchen.cook(Recipe(Self.personal, .python))
            var canary: [String: String] = [:]
            try await Wait.until("the end of the canary; the job is \(canary)\n\(rig.logs)") {
                canary = try await rig.job("hello-7")
                return canary["state"] == "paused"
            }
            #expect(canary["reason"] == "canary" && canary["sent"] == "12" && canary["total"] == "1200", "\(canary)")
            for (token, title) in [("ana", "Hola Ana"), ("bo", "Hello Bo"), ("token-9", "Hello there")] {
                let received = try await rig.deliveries(token)
                #expect(received.count == 1 && received.allSatisfy { $0.contains(title) }, "\(received)")
            }
            #expect(try await rig.deliveries("token-10").isEmpty)
            let output = try await kitchen.cook(Recipe(Self.personal, .bash))
            #expect(output.contains("canary") && output.contains("resumed"), "\(output)")
            let job = try await rig.finished("hello-7")
            #expect(job["state"] == "done" && job["sent"] == "1200", "\(job)")
        }
    }

    @Test func dailyPushSendsOncePerDay() async throws {
        try await withKitchen { rig, kitchen, _ in
            let script = try Recipe(Self.cron, .bash)
            for _ in 1...2 { try await kitchen.cook(script) }
            try await Wait.until("the second push to count as a duplicate\n\(rig.logs)") {
                let keys = try rig.redis.cli("--scan", "--pattern", "fanfare:{demo}:job:daily-*")
                guard let key = keys.split(separator: "\n").first else { return false }
                return try rig.redis.cli("HMGET", String(key), "duplicates", "state") == "1\ndone"
            }
            #expect(try await rig.stats().sends == 1)
        }
    }

    /// The process is killed where it hurts: between commit and push, then between push and delete.
    @Test func outboxSendsEachRowOnceWhereverItsRelayIsKilled() async throws {
        try await withKitchen { rig, kitchen, _ in
            try kitchen.sql(
                """
                CREATE TABLE orders(id INTEGER PRIMARY KEY, token TEXT, state TEXT);
                INSERT INTO orders VALUES (1,'ana','packed'),(2,'bo','packed'),(3,'cy','open');
                """
            )
            let kill = "os.kill(os.getpid(), 9)"
            try await kitchen.cook(
                Recipe(Self.outbox, .python, changing: ["\nrelay()\n": "\n\(kill)\n"]),
                isKilled: true
            )
            #expect(try await rig.length("jobs") == 0)
            #expect(
                try kitchen.sql("SELECT count(*) FROM outbox; SELECT id FROM orders WHERE state = 'shipped';")
                    == "2\n1\n2\n"
            )

            let delete = "        with db:\n            db.execute(\"DELETE"
            let killed = try Recipe(Self.outbox, .python, changing: [delete: "        \(kill)\n" + delete])
            try await kitchen.cook(killed, isKilled: true)
            #expect(try await rig.finished("outbox-1")["sent"] == "1")
            #expect(try kitchen.sql("SELECT count(*) FROM outbox;") == "2\n")

            try await kitchen.cook(Recipe(Self.outbox, .python))
            #expect(try await rig.finished("outbox-2")["sent"] == "1")
            try await Wait.until("the repeated push to count as a duplicate\n\(rig.logs)") {
                try await rig.job("outbox-1")["duplicates"] == "1"
            }
            #expect(try kitchen.sql("SELECT count(*) FROM outbox;") == "0\n")
            let stats = try await rig.stats()
            #expect(stats.sends == 2 && stats.duplicates == 0)
        }
    }

    @Test func rejectedJobIsCorrectedAndSent() async throws {
        try await withKitchen { rig, kitchen, _ in
            try await rig.push([
                "id": "news-43", "message": #"{"notification":{"title":"News"}}"#, "token": "a", "priority": "12",
            ])
            #expect(try await rig.finished("news-43")["state"] == "rejected")
            let output = try await kitchen.cook(Recipe(Self.rejected, .python))
            #expect(output == "news-43 | priority: 12 is not 0 to 9\n")
            try await Wait.until("the corrected job\n\(rig.logs)") {
                try await rig.job("news-43")["state"] == "done"
            }
            #expect(try await rig.deliveries("a").count == 1)
            try await kitchen.cook(Recipe(Self.rejected, .bash))
            #expect(try await rig.length("dead") == 0)
        }
    }
}
