import FanfareJSON
import Foundation
import TestSupport
import Testing

@testable import fanfare

/// `fanfare send --local-time` and `fanfare job show` of its id, against a real redis-server without a worker.
@Suite struct LocalTimeTests {
    private let redis: RedisServer
    private let folder: TemporaryFolder

    init() throws {
        redis = try RedisServer()
        folder = try TemporaryFolder()
    }

    private var flags: [String] { ["--project", "demo", "--redis", "unix://\(redis.socketPath)"] }

    private func send(_ arguments: [String], input: String = "", time: String = "2027-03-01T09:00") async throws
        -> CommandRun
    {
        let line = ["send", "--title", "Hi", "--id", "sale", "--local-time", time] + flags + arguments
        return try await CommandRun(line, input: input, folder: folder.path)
    }

    /// The fields of the entries, by their ids.
    private func entries() throws -> [String: [String: String]] {
        let json = try redis.cli("--json", "XRANGE", "fanfare:{demo}:jobs", "-", "+")
        var entries: [String: [String: String]] = [:]
        for entry in try JSONParser.parse(Array(json.utf8)).array ?? [] {
            let words = (entry.array?[1].array ?? []).compactMap(\.string)
            var fields: [String: String] = [:]
            for index in stride(from: 0, to: words.count, by: 2) { fields[words[index]] = words[index + 1] }
            entries[fields["id"] ?? ""] = fields
        }
        return entries
    }

    @Test func tokensBecomeAJobForEachInstant() async throws {
        let rows =
            "token,zone,name\nt1,Europe/Madrid,\"a,b\"\nt2,Asia/Tokyo,\nt3,Europe/Paris,x\nt4,Pacific/Honolulu,x\nt5,Pacific/Kiritimati,\n"
        let run = try await send(["--tokens-file", "-", "--expires-at", "+12h"], input: rows)
        #expect(run.status == 0, "\(run.err)")
        #expect(run.out == "sale.1900Z.east\nsale.0000Z\nsale.0800Z\nsale.1900Z\n")
        let entries = try entries()
        #expect(entries["sale.0800Z"]?["tokens"] == #"["t1","t3"]"# && entries["sale.1900Z"]?["token"] == "t4")
        #expect(entries["sale.0000Z"]?["not_before"] == "1803859200000")
        #expect(entries["sale.0800Z"]?["not_before"] == "1803888000000")
        #expect(entries["sale.0800Z"]?["expires_at"] == "1803931200000", "a delay counts from the start")
        #expect(entries["sale.1900Z"]?["not_before"] == "1803927600000")
        #expect(entries["sale.1900Z.east"]?["not_before"] == "1803841200000")
    }

    @Test func personalRecipientsAreSentWithoutTheirZone() async throws {
        let csv = "token,tz,name\nt1,Europe/Madrid,Ana\n"
        let first = try await send(["--recipients-file", "-", "--zone-column", "tz", "--json"], input: csv)
        #expect(first.status == 0, "\(first.err)")
        let part = #"{"id":"sale.0800Z","not_before":1803888000000,"recipients":1}"#
        #expect(first.out == #"{"id":"sale","project":"demo","parts":[\#(part)]}"# + "\n")
        #expect(try entries()["sale.0800Z"]?["recipients"] == #"[{"token":"t1","vars":{"name":"Ana"}}]"#)
        let ndjson = #"{"token":"t2","zone":"Asia/Kolkata","vars":{"name":"Bo"},"variant":"es"}"#
        let second = try await send(["--recipients-file", "-"], input: ndjson)
        #expect(second.out == "sale.0330Z\n", "\(second.err)")
        let expected = #"[{"token":"t2","vars":{"name":"Bo"},"variant":"es"}]"#
        #expect(try entries()["sale.0330Z"]?["recipients"] == expected)
    }

    /// Clocks of Madrid skip 02:00 to 03:00 on 2027-03-28, and show 02:00 to 03:00 twice on 2027-10-31.
    @Test(arguments: [
        ("2027-03-28T02:30", "sale.0100Z", "1806195600000"), ("2027-10-31T02:30", "sale.0030Z", "1824942600000"),
    ])
    func skippedTimeMovesForwardAndARepeatedOneIsTheFirst(time: String, id: String, start: String) async throws {
        let run = try await send(["--tokens-file", "-"], input: "token,zone\nt,Europe/Madrid\n", time: time)
        #expect(run.out == id + "\n", "\(run.err)")
        #expect(try entries()[id]?["not_before"] == start)
    }

    static let faults: [(option: String, text: String, start: String)] = [
        ("--tokens-file", "token,zone\nt,\n", "standard input:2:3: no zone; give a name such as Europe/Madrid"),
        (
            "--tokens-file", "token,zone\na,Asia/Tokyo\nt,Europe/Madird\n",
            "standard input:3:3: the zone Europe/Madird is not in /usr/share/zoneinfo: correct its name, or install tzdata"
        ),
        (
            "--tokens-file", "token,zone\nt,../../etc/passwd\n",
            "standard input:2:3: the zone ../../etc/passwd is no name"
        ),
        ("--tokens-file", "token,zone\nt,Europe\n", "standard input:2:3: the zone Europe "),
        ("--tokens-file", "token,zone\na b,Asia/Tokyo\n", "standard input:2:1: token: byte 1 is not one of"),
        (
            "--tokens-file", "token,tz\nt,Asia/Tokyo\n",
            "fanfare: standard input:1:1: no column zone; --zone-column names"
        ),
        ("--tokens-file", "t\nu\n", "fanfare: standard input:1:1: no column token; the header"),
        (
            "--tokens-file", #"{"token":"t"}"#,
            "fanfare: standard input: NDJSON; give CSV with the columns token and zone"
        ),
        (
            "--recipients-file", #"{"token":"t"}"#,
            #"standard input:1:1: no zone; give a member "zone" beside the token"#
        ),
        ("--recipients-file", #"{"token":"t","zone":"X"}"#, "standard input:1:1: the zone X is not in"),
        ("--recipients-file", #"{"token":"t","zone":"Asia/Tokyo","a":1}"#, "standard input:1:34: a: unknown field"),
        ("--recipients-file", #"{"token" "t"}"#, "standard input:1:10: not JSON at byte 9"),
    ]

    @Test(arguments: faults.indices) func rowWithoutAnInstantIsNamedAndNothingIsPushed(index: Int) async throws {
        let (option, text, start) = Self.faults[index]
        let run = try await send([option, "-"], input: text)
        #expect(run.status == 64 && run.out.isEmpty)
        #expect(run.err.hasPrefix(start), "\(run.err)")
        #expect(try redis.cli("KEYS", "*{demo}*").trimmingCharacters(in: .newlines).isEmpty)
    }

    /// Lists keep neither the file nor its recipients in memory. A repeated push sends nothing again, and leaves no list.
    @Test(arguments: [false, true]) func longFileIsWrittenToAListForEachInstant(isPipe: Bool) async throws {
        let zones = ["Europe/Madrid", "Asia/Tokyo", "America/Lima"]
        let text = "token,zone\n" + (0...100_001).map { "t\($0),\(zones[$0 % 3])\n" }.joined()
        _ = try folder.write("long.csv", text)
        let arguments = ["--tokens-file", isPipe ? "-" : "long.csv"]
        let run = try await send(arguments, input: isPipe ? text : "")
        #expect(run.status == 0 && run.out == "sale.0000Z\nsale.0800Z\nsale.1400Z\n", "\(run.err)")
        let lists = try entries().mapValues { $0["audience"] ?? "" }
        #expect(try lists.values.map { try redis.cli("LLEN", $0) } == Array(repeating: "33334", count: 3))
        #expect(try redis.cli("LRANGE", lists["sale.0800Z"] ?? "", "0", "1") == "t0\nt3")
        let end = try redis.cli("PEXPIRETIME", lists["sale.0800Z"] ?? "")
        #expect(end == "\(1_803_888_000_000 + 7 * 86_400_000)", "7 days after the job's start")

        for id in lists.keys { _ = try redis.cli("SET", "fanfare:{demo}:seen:\(id)", "1-1") }
        let again = try await send(arguments + ["--json"], input: isPipe ? text : "")
        #expect(again.status == 0 && again.out.components(separatedBy: #""duplicate":true"#).count == 4, "\(again.err)")
        #expect(try redis.cli("--scan", "--pattern", "audience:*").split(separator: "\n").count == 3)
        #expect(try redis.cli("XLEN", "fanfare:{demo}:jobs") == "3")
    }

    @Test(arguments: [false, true]) func faultAtTheEndOfALongFileLeavesNoList(isPipe: Bool) async throws {
        let text = "token,zone\n" + (0...100_001).map { "t\($0),Asia/Tokyo\n" }.joined() + "t,nowhere\n"
        _ = try folder.write("long.csv", text)
        let run = try await send(["--tokens-file", isPipe ? "-" : "long.csv"], input: isPipe ? text : "")
        #expect(run.status == 64 && run.out.isEmpty)
        #expect(run.err.contains(":100004:3: the zone nowhere is not in"), "\(run.err)")
        #expect(try redis.cli("KEYS", "*{demo}*").trimmingCharacters(in: .newlines).isEmpty)
    }

    @Test(arguments: [
        (["--token", "t"], "--local-time: only with --recipients-file or --tokens-file"),
        (["--tokens-file", "-", "--at", "+1h"], "--at: not with --local-time"),
        (["--tokens-file", "-", "--wait"], "--wait: not with --local-time; `fanfare job show sale` adds"),
        (["--tokens-file", "-", "--id", String(repeating: "i", count: 118)], "--id: at most 117 characters"),
    ])
    func optionThatSeveralJobsCannotHaveIsRefused(arguments: [String], reason: String) async throws {
        let run = try await send(arguments, input: "token,zone\nt,Asia/Tokyo\n")
        #expect(run.status == 64 && run.err.contains(reason), "\(run.err)")
    }

    @Test func showAddsTheJobsUp() async throws {
        for (id, start, sent, state) in [
            ("sale.0800Z", "1803888000000", "2", "active"), ("sale.1900Z.east", "1803841200000", "3", "done"),
        ] {
            _ = try redis.cli(
                "HSET",
                "fanfare:{demo}:job:\(id)",
                "state",
                state,
                "total",
                "4",
                "sent",
                sent,
                "failed",
                "1",
                "not_before",
                start
            )
        }
        let text = try await CommandRun(["job", "show", "sale"] + flags)
        #expect(text.status == 0, "\(text.err)")
        let rows = text.out.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.map(\.first) == ["job", "sale.1900Z.east", "sale.0800Z", "2"])
        #expect(rows[2] == ["sale.0800Z", "2027-03-01T08:00Z", "active", "4", "2", "1"])
        #expect(rows[3] == ["2", "jobs", "8", "5", "2"])
        let json = try await CommandRun(["job", "show", "sale", "--json"] + flags)
        let sums = #"{"id":"sale","project":"demo","state":"active","total":8,"sent":5,"failed":2,"#
        #expect(json.out.hasPrefix(sums), "\(json.out)")
        #expect(json.out.contains(#""parts":[{"id":"sale.1900Z.east","state":"done","total":4"#))
        let none = try await CommandRun(["job", "show", "sal"] + flags)
        #expect(none.status == 1 && none.err.contains("job sal: not there"), "\(none.err)")
    }
}
