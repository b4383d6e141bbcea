import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// The index of `results` by token, as `record` writes it and `trim` shortens it.
@Suite struct TokenIndexTests {
    private let keys = ProjectKeys(project: "p")

    private func call(_ claim: Claim, _ indexes: Range<Int>, late: Bool = false) -> RecordCall {
        var call = RecordCall(job: claim.job, batch: claim.batch, epoch: claim.epoch)
        for index in indexes {
            let fingerprint = TokenFingerprint(of: "t\(index)")
            call.results.append(index: index, status: .sent, object: .wanted, fingerprint: fingerprint) {
                $0 += Array(#"{"i":\#(index),"token":"t\#(index)"}"#.utf8)
            }
        }
        call.late = late
        return call
    }

    private func entries(_ bench: LibraryBench, _ stream: String) async throws -> [StreamEntry] {
        let reply = try await bench.call(RedisCommand("XRANGE", keys.base + stream, "-", "+"))
        return (reply.array ?? []).compactMap { StreamEntry($0) }
    }

    private func open(_ bench: LibraryBench) async throws -> Int64? {
        try await bench.call(RedisCommand("LLEN", keys.base + "fingerprints_open")).integer
    }

    @Test func blockHasTheIDOfItsLastEntryAndTheFingerprintsOfAll() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(100))
            let claim = try #require(try await bench.claim("w1").claims.first)
            _ = try await bench.record(call(claim, 0..<2), "w1")
            #expect(try await open(bench) == 1)
            #expect(try await entries(bench, "fingerprints").isEmpty)
            _ = try await bench.record(call(claim, 2..<60), "w1")
            let block = try #require(try await entries(bench, "fingerprints").first)
            #expect(block.id == (try await entries(bench, "results").last?.id))
            #expect(block.text("entries") == "2")
            let prints = try #require(block["prints"])
            #expect(prints.count == 60 * TokenFingerprint.byteCount)
            #expect((0..<60).allSatisfy { TokenFingerprint(of: "t\($0)").isIn(prints) })
            #expect(!TokenFingerprint(of: "t60").isIn(prints))
            #expect(try await open(bench) == 0)
        }
    }

    @Test func singleResultsShareABlock() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(300))
            let claim = try #require(try await bench.claim("w1", window: 300).claims.first)
            for index in 0..<257 { _ = try await bench.record(call(claim, index..<index + 1), "w1") }
            #expect(try await entries(bench, "fingerprints").map { $0.text("entries") } == ["128", "128"])
            #expect(try await open(bench) == 1)
        }
    }

    @Test func repeatedAndLateFlushesIndexOnlyNewEntries() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(100))
            let claim = try #require(try await bench.claim("w1").claims.first)
            for _ in 0..<3 { _ = try await bench.record(call(claim, 0..<2), "w1") }
            #expect(try await open(bench) == 1)
            for _ in 0..<2 { _ = try await bench.record(call(claim, 0..<3, late: true), "w1") }
            #expect(try await entries(bench, "results").count == 2)
            #expect(try await open(bench) == 2)
        }
    }

    @Test func callWithoutFingerprintsWritesNoIndex() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(100))
            let claim = try #require(try await bench.claim("w1").claims.first)
            let command = call(claim, 0..<50).command(keys, worker: "w1", indexesTokens: false)
            #expect(RecordReply(try await bench.call(command)) == .ok())
            #expect(try await entries(bench, "results").count == 1)
            #expect(try await bench.call(RedisCommand("EXISTS", keys.base + "fingerprints_open")).integer == 0)
        }
    }

    @Test func brokenIndexKeepsNoResultBack() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(100))
            let claim = try #require(try await bench.claim("w1").claims.first)
            for key in ["fingerprints", "fingerprints_open"] {
                _ = try await bench.call(RedisCommand("SET", keys.base + key, "x"))
                let from = key == "fingerprints" ? 0 : 50
                #expect(try await bench.record(call(claim, from..<from + 50), "w1") == .ok())
            }
            #expect(try await bench.job("j")["sent"] == "100")
        }
    }

    @Test func indexIsTrimmedWithTheResults() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(100))
            let claim = try #require(try await bench.claim("w1").claims.first)
            for from in [0, 40] { _ = try await bench.record(call(claim, from..<from + 40), "w1") }
            _ = try await bench.record(call(claim, 80..<81), "w1")
            let ids = try await entries(bench, "results").map(\.id)
            // A producer, too, may trim the results.
            _ = try await bench.call(RedisCommand("XTRIM", keys.results, "MINID", ids[1]))
            let trim = FunctionLibrary.trim(keys, stream: "results", keepMs: 3_600_000)
            _ = try await bench.call(trim)
            #expect(try await entries(bench, "fingerprints").map(\.id) == [ids[1]])
            _ = try await bench.call(RedisCommand("DEL", keys.results))
            _ = try await bench.call(trim)
            for key in ["fingerprints", "fingerprints_open"] {
                #expect(try await bench.call(RedisCommand("EXISTS", keys.base + key)).integer == 0)
            }
        }
    }

    @Test func indexBeginsAnewAfterTheResultsWereDeletedAndTheClockSetBack() async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(200))
            let claim = try #require(try await bench.claim("w1", window: 200).claims.first)
            _ = try await bench.call(
                RedisCommand("XADD", keys.base + "fingerprints", "9999999999999-0", "entries", "1", "prints", "abc")
            )
            for from in [0, 50] { _ = try await bench.record(call(claim, from..<from + 50), "w1") }
            #expect(try await entries(bench, "fingerprints").map { $0.text("entries") } == ["1"])
            #expect(try await entries(bench, "fingerprints").first?.id == entries(bench, "results").last?.id)
        }
    }

    /// Redis keeps them: another value would lose what is indexed.
    @Test func fingerprintsDoNotChange() {
        func bytes(_ text: String) -> [UInt8] {
            var bytes: [UInt8] = []
            TokenFingerprint(of: text).append(to: &bytes)
            return bytes
        }
        #expect(bytes("t0") == [25, 111, 166])
        #expect(bytes(String(repeating: "a", count: 1_024)) == [144, 82, 61])
        #expect(TokenFingerprint(of: "t0").isIn(bytes("x") + bytes("t0")))
        #expect(!TokenFingerprint(of: "t0").isIn([0] + bytes("t0") + [0, 0]), "only at a multiple of three")
        #expect(!TokenFingerprint(of: "t0").isIn([]))
    }
}
