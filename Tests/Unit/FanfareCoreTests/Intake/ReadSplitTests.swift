import Testing

@testable import FanfareCore

/// Which of two readers reads a stream.
@Suite struct ReadSplitTests {
    private static let second: UInt64 = 1_000_000_000

    private var split = ReadSplit()

    private mutating func mayRead(
        _ reader: ReadSplit.Reader,
        isWanted: Bool = false,
        isRecovered: Bool = true,
        isReadByOther: Bool,
        at second: UInt64 = 0
    ) -> Bool {
        split.mayRead(
            reader,
            3,
            isWanted: isWanted,
            isRecovered: isRecovered,
            isReadByOther: isReadByOther,
            now: second * Self.second
        )
    }

    @Test mutating func quietStreamIsLeftToTheSleepingReader() {
        #expect(mayRead(.waking, isReadByOther: false), "the other one does not read it yet")
        #expect(mayRead(.sleeping, isReadByOther: true))
        #expect(!mayRead(.waking, isReadByOther: true))
        #expect(mayRead(.sleeping, isReadByOther: false))
    }

    @Test mutating func streamWithAnEntryIsLeftToTheWakingReader() {
        #expect(mayRead(.sleeping, isReadByOther: false))
        split.receivedEntry(3, now: 0)
        #expect(mayRead(.sleeping, isReadByOther: false), "the other one does not read it yet")
        #expect(mayRead(.waking, isReadByOther: true))
        #expect(!mayRead(.sleeping, isReadByOther: true))
        #expect(!mayRead(.sleeping, isReadByOther: false), "it was left")
        #expect(mayRead(.waking, isReadByOther: false, at: 14))
        #expect(!mayRead(.sleeping, isReadByOther: true, at: 14))
        #expect(mayRead(.sleeping, isReadByOther: true, at: 15))
        #expect(!mayRead(.waking, isReadByOther: true, at: 15))
    }

    @Test mutating func streamOfWhichMoreIsAwaitedIsLeftToTheWakingReader() {
        #expect(!mayRead(.sleeping, isWanted: true, isReadByOther: false))
        #expect(mayRead(.sleeping, isReadByOther: true))
        #expect(mayRead(.waking, isWanted: true, isReadByOther: true))
        #expect(mayRead(.sleeping, isWanted: true, isReadByOther: false))
        #expect(!mayRead(.sleeping, isWanted: true, isReadByOther: true))
    }

    /// The sleeping reader reads new entries only.
    @Test mutating func pendingEntriesAreForTheWakingReader() {
        #expect(mayRead(.sleeping, isReadByOther: false))
        #expect(mayRead(.waking, isRecovered: false, isReadByOther: true))
        #expect(!mayRead(.sleeping, isRecovered: false, isReadByOther: false))
    }
}
