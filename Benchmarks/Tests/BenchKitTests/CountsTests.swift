import Foundation
import Testing

@testable import BenchKit

struct CountsTests {
    @Test func recordsAreReadByName() throws {
        let counts = try CallCounts(records: record("malloc", 7) + record("send", 0x0102_0304_0506))
        #expect(counts["malloc"] == 7)
        #expect(counts["send"] == 0x0102_0304_0506)
        #expect(counts["what nobody counts"] == 0)
        #expect(counts.sum(["malloc", "malloc"]) == 14)
    }

    @Test(arguments: [0, 1, 31, 33])
    func whatIsNotRecordsIsAnError(length: Int) {
        #expect(throws: BenchError.self) { try CallCounts(records: Data(repeating: 1, count: length)) }
    }

    @Test func onlyWhatWasAddedCounts() {
        let before = CallCounts(values: ["malloc": 100, "send": 3])
        let after = CallCounts(values: ["malloc": 150, "send": 3])
        #expect(after.since(before).values == ["malloc": 50, "send": 0])
    }

    @Test func figuresAreOfOneSendOrAThousand() throws {
        let counts = CallCounts(
            values: ["send": 400, "recv": 100, "malloc": 900, "realloc": 100, "unix_out": 5, "copied_bytes": 20_000]
        )
        func figure(_ name: String) throws -> Double {
            try #require(CountFigure.named(name)).value(counts, 200)
        }
        #expect(try figure("system_calls_per_send") == 2.5)
        #expect(try figure("allocations_per_send") == 5)
        #expect(try figure("copied_bytes_per_send") == 100)
        #expect(try figure("redis_requests_per_1000") == 25)
    }

    @Test func aCommandLineNeedsAWorker() throws {
        let options = try CountsOptions.parse(["--fanfare", "F", "--kind", "debug", "--sends", "2000", "--floor"])
        #expect(options == CountsOptions(fanfare: "F", kind: "debug", sends: 2_000, floor: true))
        #expect(options.engines == [.curl, .nghttp2])
        #expect(try CountsOptions.parse(["--fanfare", "F", "--engine", "curl"]).engines == [.curl])
        for mistake in [
            [], ["--fanfare"], ["--fanfare", "F", "--sends", "9"], ["--fanfare", "F", "more"],
            ["--fanfare", "F", "--engine", "quic"],
            ["--fanfare", "F", "--multicast", "--budgets", "B"],
        ] {
            #expect { try CountsOptions.parse(mistake) } throws: { ($0 as? BenchError)?.exitCode == 64 }
        }
    }

    private func record(_ name: String, _ value: UInt64) -> Data {
        var bytes = Array(name.utf8) + [UInt8](repeating: 0, count: 24 - name.utf8.count)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return Data(bytes)
    }
}
