import EventLoop
import Glibc
import TestSupport
import Testing

@testable import FanfareWorker

@Suite struct SubjectTokenReaderTests {
    private typealias Answer = SubjectTokenReader.Answer

    @Test func fileIsReadAndALargeOneRefused() throws {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let small = try folder.write("small", "token")
        let large = try folder.write("large", String(repeating: "a", count: 65_537))
        let loop = try EventLoop()
        let reader = SubjectTokenReader(loop: loop)
        var answers: [Answer] = []
        reader.read(small, timeoutMs: 60_000) { first in
            answers.append(first)
            reader.read(large, timeoutMs: 60_000) { second in
                answers.append(second)
                loop.stop()
            }
        }
        loop.run()
        #expect(answers == [.read(Array("token".utf8)), .failed("more than 65536 bytes")])
    }

    @Test func hangingReadIsGivenUpAndFollowedByNoSecondThread() throws {
        let loop = try EventLoop()
        let reads = Locked(0)
        let mayEnd = Locked(false)
        let reader = SubjectTokenReader(loop: loop) { _ in
            reads.withLock { $0 += 1 }
            while !mayEnd.withLock({ $0 }) { sched_yield() }
            return .read([1])
        }
        var answers: [Answer] = []
        reader.read("/hangs", timeoutMs: 10) { first in
            answers.append(first)
            reader.read("/hangs", timeoutMs: 10) { second in
                answers.append(second)
                loop.stop()
            }
        }
        loop.run()
        #expect(
            answers == [
                .failed("the file could not be read within 10 ms"), .failed("an earlier read of the file still hangs"),
            ]
        )
        #expect(reads.withLock { $0 } == 1)
        mayEnd.withLock { $0 = true }
        // The late answer belongs to no read, and frees the reader.
        let timer = loop.every(milliseconds: 1) {
            reader.read("/works", timeoutMs: 60_000) { answer in
                guard answer == .read([1]) else { return }
                loop.stop()
            }
        }
        loop.run()
        loop.cancel(timer)
        #expect(answers.count == 2)
    }
}
