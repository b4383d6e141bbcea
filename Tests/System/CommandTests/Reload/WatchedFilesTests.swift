import Foundation
import TestSupport
import Testing

@testable import fanfare

@Suite struct WatchedFilesTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.write("a.yaml", "one")
    }

    private func seen() -> WatchedFiles { WatchedFiles([folder.file("a.yaml"), folder.path]) }

    @Test func unchangedFilesAreEqual() throws {
        #expect(seen() == seen())
    }

    @Test func replacedFileOfEqualSizeDiffers() throws {
        let before = seen()
        // Written to another file and renamed, as editors do.
        _ = try folder.write("a.yaml", "two")
        #expect(seen() != before)
    }

    @Test func fileWrittenInPlaceDiffers() throws {
        let before = seen()
        let handle = try #require(FileHandle(forWritingAtPath: folder.file("a.yaml")))
        try handle.write(contentsOf: Data("three".utf8))
        try handle.close()
        #expect(seen() != before)
    }

    /// Kubernetes mounts `a.yaml -> ..data/a.yaml` and exchanges the link `..data`.
    @Test func exchangedLinkDiffers() throws {
        let files = FileManager.default
        for name in ["v1", "v2"] {
            try files.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
            _ = try folder.write(name + "/b.yaml", "same")
        }
        try files.createSymbolicLink(atPath: folder.file("..data"), withDestinationPath: "v1")
        try files.createSymbolicLink(atPath: folder.file("b.yaml"), withDestinationPath: "..data/b.yaml")
        let paths = [folder.file("b.yaml")]
        let before = WatchedFiles(paths)
        try files.removeItem(atPath: folder.file("..data"))
        #expect(WatchedFiles(paths) != before, "the file is missing")
        try files.createSymbolicLink(atPath: folder.file("..data"), withDestinationPath: "v2")
        #expect(WatchedFiles(paths) != before)
    }

    @Test func folderChangesWithItsProjectsOnly() throws {
        let before = seen()
        for name in ["shop.yaml~", ".shop.yaml.swp", "reload.log", "Shop.yaml"] { _ = try folder.write(name, "") }
        #expect(seen() == before)
        _ = try folder.write("shop.yaml", "")
        let added = seen()
        #expect(added != before)
        _ = try folder.write("shop.yaml", "port: 7")
        #expect(seen() != added)
        try FileManager.default.removeItem(atPath: folder.file("shop.yaml"))
        #expect(seen() == before)
        let paths = [folder.file("projects.d")]
        let absent = WatchedFiles(paths)
        try FileManager.default.createDirectory(atPath: paths[0], withIntermediateDirectories: false)
        #expect(WatchedFiles(paths) != absent)
    }

    // MARK: When to read

    private func states(_ count: Int) throws -> [WatchedFiles] {
        try (0..<count).map { index in
            _ = try folder.write("a.yaml", "\(index)" + String(repeating: "x", count: index))
            return seen()
        }
    }

    /// Observes states, one each interval, until one is to be read.
    ///
    /// - Returns: the time of the read in milliseconds; nil if none was due.
    private func readTime(
        _ trigger: inout ReloadTrigger,
        _ states: some Sequence<WatchedFiles>,
        isRefused: Bool = false
    ) -> Int64? {
        var nowMs: Int64 = 0
        for state in states {
            nowMs += Int64(ReloadTrigger.intervalMs)
            if trigger.observe(state, nowMs: nowMs, isRefused: isRefused) { return nowMs }
        }
        return nil
    }

    @Test func changedFileIsReadOnceItIsAtRest() throws {
        let states = try states(3)
        var trigger = ReloadTrigger(states[0], nowMs: 0)
        // A changed file may be half written, and is while it changes from one observation to the next.
        #expect(readTime(&trigger, [0, 1, 2, 2].map { states[$0] }) == 8_000)
        #expect(trigger.isChanged(states[2]))
        trigger.read(states[2], nowMs: 8_000)
        #expect(!trigger.observe(states[2], nowMs: 10_000, isRefused: false) && !trigger.isChanged(states[2]))
    }

    @Test func fileThatReturnsToItsStateIsNotRead() throws {
        let states = try states(2)
        var trigger = ReloadTrigger(states[0], nowMs: 0)
        #expect(readTime(&trigger, [1, 0, 0].map { states[$0] }) == nil)
    }

    @Test func fileThatIsNeverAtRestIsReadWithinTenSeconds() throws {
        var trigger = ReloadTrigger(seen(), nowMs: 0)
        #expect(readTime(&trigger, try states(9)) == 8_000)
    }

    @Test func refusedStateIsReadAgainNowAndThen() throws {
        let state = seen()
        var trigger = ReloadTrigger(state, nowMs: 0)
        let rest = Array(repeating: state, count: 5)
        #expect(readTime(&trigger, rest) == nil)
        #expect(readTime(&trigger, rest, isRefused: true) == ReloadTrigger.retryMs)
        trigger.read(state, nowMs: ReloadTrigger.retryMs)
        #expect(readTime(&trigger, rest.prefix(5), isRefused: true) == nil)
        #expect(ReloadTrigger.retryMs + Int64(ReloadTrigger.intervalMs) <= 10_000)
    }

    // MARK: SIGHUP

    @Test func signalReadsUnchangedFilesAtOnce() {
        var trigger = ReloadTrigger(seen(), nowMs: 0)
        trigger.order()
        let isDue = trigger.observe(seen(), nowMs: 1, isRefused: false)
        #expect(isDue && trigger.isOrdered)
        trigger.read(seen(), nowMs: 1)
        let isDueAgain = trigger.observe(seen(), nowMs: 2_001, isRefused: false)
        #expect(!isDueAgain && !trigger.isOrdered)
    }

    @Test func signalDuringAWriteWaitsUntilTheFileIsAtRest() throws {
        let before = seen()
        var trigger = ReloadTrigger(before, nowMs: 0)
        try FileManager.default.removeItem(atPath: folder.file("a.yaml"))
        let removed = seen()
        _ = try folder.write("a.yaml", "copied")
        let copied = seen()
        trigger.order()
        // Observed 1 ms before the signal, too: that is no rest.
        let looks = [(99, removed), (100, removed), (1_500, copied), (3_499, copied), (3_500, copied)].map {
            trigger.observe($1, nowMs: $0, isRefused: false)
        }
        #expect(looks == [false, false, false, false, true])
    }

    @Test func signalIsAnsweredAlthoughFilesKeepChanging() throws {
        var trigger = ReloadTrigger(seen(), nowMs: 0)
        trigger.order()
        #expect(readTime(&trigger, try states(9)) == 6_000)
        #expect(ReloadTrigger.longestOrderedWaitMs < ReloadTrigger.longestWaitMs)
    }
}
