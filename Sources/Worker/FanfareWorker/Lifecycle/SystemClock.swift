internal import Glibc

/// The two clocks that decisions are given. The time of day is only where every other count begins, for it may be set;
/// leases, waits and lifetimes are measured on a clock that no step can move and that goes on while the machine sleeps.
enum SystemClock {
    /// Unix milliseconds.
    static var nowMs: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Milliseconds since boot.
    static var bootMs: Int64 { Int64(bootNs / 1_000_000) }

    /// Nanoseconds since boot.
    static var bootNs: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
