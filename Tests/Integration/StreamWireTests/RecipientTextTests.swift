import FanfareModel
import RedisTransport
import StreamWire
import TestSupport
import Testing

/// How Redis keeps the recipients that a job's entry brings.
@Suite struct RecipientTextTests {
    private static let elementSizes = [90, 130, 164, 205, 246, 320, 500, 513, 900, 1_300]

    private static func elements(_ count: Int, bytes: Int) -> [String] {
        (0..<count).map { index in
            let head = "{\"token\":\"t\(index)\",\"vars\":{\"a\":\""
            return head + String(repeating: "x", count: bytes - head.utf8.count - 3) + "\"}}"
        }
    }

    private static func intake(_ bench: LibraryBench, _ elements: [String]) async throws {
        try await bench.intake("j", .recipients(RecipientList(elements))) { $0.isPersonal = true }
    }

    /// Beside the elements of a personal job, Redis keeps at most 10 bytes for each, whatever the size of an element.
    @Test(arguments: elementSizes)
    func personalRecipientsCostLittleBesideTheirElements(bytes: Int) async throws {
        try await withBench { bench in
            try await Self.intake(bench, Self.elements(2_500, bytes: bytes))
            let key = bench.keys.base + "rcpt:j"
            let used = try await bench.call(RedisCommand("MEMORY", "USAGE", key, "SAMPLES", "0")).integer
            let each = Double(try #require(used)) / 2_500 - Double(bytes)
            #expect(each > 0 && each <= 10, "\(each) bytes")
        }
    }

    /// A batch of 1,000 lines of 131 bytes fills an allocation as it is.
    @Test(arguments: elementSizes)
    func piecesComeBackAsOneText(bytes: Int) async throws {
        try await withBench { bench in
            let elements = Self.elements(2_500, bytes: bytes)
            try await Self.intake(bench, elements)
            let key = bench.keys.base + "rcpt:j"
            let fields = try await bench.call(RedisCommand("HLEN", key)).integer
            #expect(try #require(fields) > 3 || bytes == 130, "no batch is in pieces")
            for n in 0..<3 {
                let claim = try #require(try await bench.claim("w1", most: 1).claims.first)
                #expect(claim.batch == "\(n)")
                let texts = claim.recipients.map(\.value)
                #expect(texts == Array(elements[(1_000 * n)..<min(1_000 * n + 1_000, 2_500)]))
                var passed = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
                passed.results = ResultBuffer(claim.recipients.map { bench.sent($0.index) })
                passed.finish = true
                #expect(try await bench.record(passed, "w1") == .ok())
                // All pieces go with their batch.
                let left = try await bench.call(RedisCommand("HKEYS", key)).array?.compactMap(\.string) ?? []
                #expect(!left.contains { $0.hasPrefix("\(n)") }, "\(left)")
            }
            #expect(try await bench.job("j")["state"] == "done")
        }
    }

    /// A worker of version 1 reads the first field of a batch only, so a job that it can send is not cut.
    @Test func tokensAreOneText() async throws {
        try await withBench { bench in
            let tokens = (0..<1_000).map { "t\($0)" + String(repeating: "x", count: 200) }
            try await bench.intake("j", .tokens(RecipientList(tokens)))
            #expect(try await bench.call(RedisCommand("HLEN", bench.keys.base + "rcpt:j")).integer == 1)
        }
    }
}
