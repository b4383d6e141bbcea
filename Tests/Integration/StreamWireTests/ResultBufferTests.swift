import FanfareModel
import Foundation
import RedisTransport
import StreamWire
import Testing

@Suite struct ResultBufferTests {
    private func object(_ index: Int) -> [UInt8] { Array(#"{"i":\#(index),"raw_error":",{\"i\":7,"}"#.utf8) }

    /// The first even ones were answered before; the library must take the others only, wherever they stand.
    private func results(_ indexes: [Int], status: RecordCall.Status = .sent) -> ResultBuffer {
        var results = ResultBuffer()
        for index in indexes {
            results.append(index: index, status: status, object: index % 3 == 2 ? .none : .wanted) {
                $0 += object(index)
            }
        }
        return results
    }

    private func stream(_ bench: LibraryBench) async throws -> [Int] {
        let entries = try await bench.call(RedisCommand("XRANGE", bench.keys.base + "results", "-", "+")).array ?? []
        var seen: [Int] = []
        for entry in entries {
            let fields = try #require(entry.array?[1].array)
            let text = try #require(fields.last?.string)
            let list = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
            for object in list {
                #expect(object["raw_error"] as? String == #",{"i":7,"#)
                seen.append(try #require(object["i"] as? Int))
            }
        }
        return seen
    }

    @Test func appendedResultsAreDividedAsTheyWere() {
        let parts = [[], [2], [0, 1, 2], [5, 8], [3], [], [4, 6, 11, 7]].map { results($0) }
        var all = ResultBuffer()
        for part in parts { all.append(part) }
        #expect(all.count == 11)
        #expect(all == results([2, 0, 1, 2, 5, 8, 3, 4, 6, 11, 7]), "as if one flush had held them")
        #expect(all.divided(into: parts.map(\.count)) == parts)
    }

    /// Each result is set once, in one range of a batch or one by one.
    @Test(arguments: [[0, 1], [3, 8, 5, 2, 11, 4, 0], Array((0..<1_000).reversed()), [1_499, 7, 1_000, 2, 999, 8]])
    func onlyNewResultsCount(earlier: [Int]) async throws {
        try await withBench { bench in
            try await bench.intake("j", tokens(1_500))
            let claims = try await bench.claim("w1").claims
            let claim = try #require(claims.first { $0.batch == "0" })
            for (number, indexes) in [earlier, Array(0..<1_500)].enumerated() {
                for _ in 0..<2 {
                    var call = RecordCall(job: "j", batch: claim.batch, epoch: claim.epoch)
                    call.results = results(indexes, status: number == 0 ? .failed : .sent)
                    call.late = true
                    call.number = number + 1
                    let expected: RecordReply = try await bench.job("j")["state"] == "done" ? .gone : .ok()
                    #expect(try await bench.record(call, "w1") == expected)
                }
            }
            let job = try await bench.job("j")
            #expect(job["state"] == "done")
            #expect(job["failed"] == String(earlier.count))
            #expect(job["sent"] == String(1_500 - earlier.count))
            let wanted = (0..<1_500).filter { $0 % 3 != 2 }
            let seen = try await stream(bench)
            #expect(seen.sorted() == wanted)
            #expect(Array(seen.prefix(earlier.count { $0 % 3 != 2 })) == earlier.filter { $0 % 3 != 2 })
        }
    }

    /// Wanted, spare and missing objects come apart as they were put together, whatever stands beside them.
    @Test func objectsOfEveryKindAreDividedAsTheyWereAppended() {
        var next = 0
        let parts = [3, 0, 1, 7, 2, 6].map { count in
            var part = ResultBuffer()
            for _ in 0..<count {
                let kind = [ResultBuffer.Object.wanted, .spare, .none][next % 3]
                part.append(index: next, status: .sent, object: kind, maybeDup: next % 5 == 4) { $0 += object(next) }
                next += 1
            }
            return part
        }
        var all = ResultBuffer()
        for part in parts { all.append(part) }
        #expect(all.divided(into: parts.map(\.count)) == parts)
        var flagged = ResultBuffer()
        for part in parts { flagged.append(part.flaggedMaybeDuplicate()) }
        #expect(all.flaggedMaybeDuplicate() == flagged, "flagged together as each by itself")
    }

    @Test func unwantedObjectIsNotWritten() {
        var results = ResultBuffer()
        results.append(index: 0, status: .sent) { _ in Issue.record("the object is not wanted") }
        #expect(words(results).contains("[0]") && words(results).contains("s"))
        #expect(words(results.flaggedMaybeDuplicate()) == words(results) + ["flagged", "1"])
    }

    @Test func flagIsAddedOnceAndBringsSpareObjects() {
        var results = ResultBuffer()
        results.append(index: 0, status: .sent, object: .wanted) { $0 += object(0) }
        results.append(index: 1, status: .sent, object: .spare) { $0 += Array(#"{"i":1}"#.utf8) }
        results.append(index: 2, status: .failed)
        results.append(index: 3, status: .unknown, object: .wanted, maybeDup: true) {
            $0 += Array(#"{"i":3,"maybe_dup":true}"#.utf8)
        }
        #expect(words(results).contains("SsfU"))
        var expected = ResultBuffer()
        expected.append(index: 0, status: .sent, object: .wanted, maybeDup: true) {
            $0 += object(0).dropLast() + Array(#","maybe_dup":true}"#.utf8)
        }
        expected.append(index: 1, status: .sent, object: .wanted, maybeDup: true) {
            $0 += Array(#"{"i":1,"maybe_dup":true}"#.utf8)
        }
        expected.append(index: 2, status: .failed, maybeDup: true)
        expected.append(index: 3, status: .unknown, object: .wanted, maybeDup: true) {
            $0 += Array(#"{"i":3,"maybe_dup":true}"#.utf8)
        }
        let flagged = results.flaggedMaybeDuplicate()
        #expect(flagged == expected && words(flagged).contains("SSfU"))
        #expect(flagged.flaggedMaybeDuplicate() == expected)
    }

    /// What is reserved is memory only.
    @Test func reservedMemoryDoesNotShow() {
        for kind in [ResultBuffer.Object.wanted, .spare, .none] {
            var (reserved, plain) = (ResultBuffer(), ResultBuffer())
            for index in 0..<20 {
                reserved.append(index: index, status: .sent, object: kind) { $0 += object(index) }
                reserved.reserve(256)
                plain.append(index: index, status: .sent, object: kind) { $0 += object(index) }
            }
            #expect(reserved == plain && words(reserved) == words(plain))
        }
    }

    /// What is large is not copied into its command, and travels as it would have.
    @Test(arguments: [1, 8, 9, 300])
    func manyTravelAsFewDo(count: Int) throws {
        let all = results(Array(0..<count).map { $0 * 3 })
        let objects = (0..<count).map { String(decoding: object($0 * 3), as: UTF8.self) }
        let list = "[\(objects.joined(separator: ","))]"
        #expect(words(all).contains(list))
        #expect(command(all).shared.isEmpty == (list.utf8.count <= 4_096))
        // Nor does a later result without an object change the list.
        var more = all
        more.append(index: 2, status: .failed)
        #expect(words(more).contains(list))
    }

    /// A few results may be as long as many are.
    @Test func sharedObjectsAreCoalescedWithOthers() throws {
        let keys = ProjectKeys(prefix: "fanfare", project: "p")
        let calls = [results([0]), results(Array(0..<300)), results([3, 4])].map(command)
        #expect(calls.map(\.shared.isEmpty) == [true, false, true])
        let together = FunctionLibrary.coalesce(.record, keys, calls)
        let head = (0..<4).map { together.word($0) }
        #expect(head.first == Array("FCALL".utf8)[...])
        let expected = calls.flatMap { call in
            [Array(String(call.count - 4).utf8)[...]] + (4..<call.count).map { call.word($0) }
        }
        #expect((4..<together.count).map { together.word($0) } == expected)
    }

    private func command(_ results: ResultBuffer) -> RedisCommand {
        var call = RecordCall(job: "j", batch: "0", epoch: "1")
        call.results = results
        return call.command(ProjectKeys(prefix: "fanfare", project: "p"), worker: "w")
    }

    private func words(_ results: ResultBuffer) -> [String] {
        let command = command(results)
        return (0..<command.count).map { String(decoding: command.word($0), as: UTF8.self) }
    }
}
