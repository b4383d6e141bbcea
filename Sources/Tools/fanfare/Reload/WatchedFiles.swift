internal import FanfareConfiguration
internal import Glibc

/// What paths lead to, to see whether a file was changed, replaced or removed. Links are followed, so a link that is
/// pointed at another file counts as a change. A folder changes with the files of projects in it, not with other
/// entries.
struct WatchedFiles: Equatable, Sendable {
    /// The state of a file or a folder. A rewritten file of equal size differs by its time. A folder has neither size
    /// nor time.
    private struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
        var size: Int64 = 0
        var seconds: Int64 = 0
        var nanoseconds: Int64 = 0
    }

    private var identities: [String: Identity] = [:]
    /// Every path, whether it leads to something or not.
    let paths: Set<String>

    init(_ paths: some Sequence<String>) {
        self.paths = Set(paths)
        for path in self.paths {
            guard add(path) else { continue }
            for file in ProjectFolder.files(in: path) { add(file) }
        }
    }

    /// - Returns: whether the path leads to a folder.
    @discardableResult
    private mutating func add(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        var identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            identity.size = Int64(status.st_size)
            (identity.seconds, identity.nanoseconds) = (Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec))
        case S_IFDIR: break
        // A pipe is read once, so it never changes.
        default: return false
        }
        identities[path] = identity
        return status.st_mode & S_IFMT == S_IFDIR
    }
}

/// Decides when watched files are read again: as soon as they have changed and then stayed the same for one interval,
/// so that a file that is being written is not read. Files that never stay the same are read after a while.
///
/// Times are milliseconds of a clock that is never set.
struct ReloadTrigger: Sendable {
    private var loaded: WatchedFiles
    private var seen: WatchedFiles
    private var readAtMs: Int64
    /// Since when the files have been as they were seen last.
    private var seenSinceMs: Int64
    /// Since when the files have differed from what was read; nil while they are equal.
    private var changedSinceMs: Int64?
    /// Whether SIGHUP has asked for a read that has not happened yet.
    private(set) var isOrdered = false

    /// Time between two observations, and how long files stay the same before they are read.
    static let intervalMs: Int32 = 2_000
    /// How long after its first observation a change is read, though the files still change.
    static let longestWaitMs: Int64 = 6_000
    /// The same after SIGHUP: an operator waits for the answer.
    static let longestOrderedWaitMs: Int64 = 4_000
    /// Time after which a refused state is read again, though no watched file has changed: a file that only the refused
    /// state names may have.
    static let retryMs: Int64 = 6_000

    /// - Parameter loaded: the files as they were before they were read.
    init(_ loaded: WatchedFiles, nowMs: Int64) {
        (self.loaded, seen) = (loaded, loaded)
        (readAtMs, seenSinceMs) = (nowMs, nowMs)
    }

    var paths: Set<String> { loaded.paths }

    /// Whether files differ from what was read last.
    func isChanged(_ files: WatchedFiles) -> Bool { files != loaded }

    /// SIGHUP came: unchanged files are read, too.
    mutating func order() { isOrdered = true }

    /// - Parameter isRefused: whether the last state that was read was refused.
    /// - Returns: whether the files are to be read now.
    mutating func observe(_ files: WatchedFiles, nowMs: Int64, isRefused: Bool) -> Bool {
        if files != seen { (seen, seenSinceMs) = (files, nowMs) }
        guard files != loaded else {
            changedSinceMs = nil
            return isOrdered || (isRefused && nowMs - max(readAtMs, seenSinceMs) >= Self.retryMs)
        }
        let since = changedSinceMs ?? nowMs
        changedSinceMs = since
        let longest = isOrdered ? Self.longestOrderedWaitMs : Self.longestWaitMs
        return nowMs - seenSinceMs >= Self.intervalMs || nowMs - since >= longest
    }

    /// - Parameter files: as they were before they were read.
    mutating func read(_ files: WatchedFiles, nowMs: Int64) {
        (loaded, seen) = (files, files)
        (readAtMs, seenSinceMs, changedSinceMs) = (nowMs, nowMs, nil)
        isOrdered = false
    }
}
