internal import Glibc

/// The open files of this process, and the limit that the system sets on them.
public enum OpenFiles {
    /// What an operator does when ``limit`` is reached.
    public static let remedy = "raise the limit of open files (LimitNOFILE= of systemd, ulimit -n)"

    /// The soft limit; nil if there is none, or it cannot be read.
    public static var limit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(exactly: limit.rlim_cur)
    }

    /// How many files may still be opened. Counts the open ones, so call it seldom.
    ///
    /// - Returns: nil if that is not known.
    public static var room: Int? {
        guard let limit else { return nil }
        guard let folder = opendir("/proc/self/fd") else { return errno == EMFILE || errno == ENFILE ? 0 : nil }
        defer { closedir(folder) }
        // The folder names itself twice, and its own descriptor, which is closed with it.
        var count = -3
        while readdir(folder) != nil { count += 1 }
        return max(0, limit - count)
    }
}
