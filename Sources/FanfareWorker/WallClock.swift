internal import Glibc

/// The two clocks that decisions are given. Wall time is for what other machines see (due times, tokens, lifetimes);
/// leases are measured on a clock that no step can move and that goes on while the machine sleeps.
enum WallClock {
    /// Unix milliseconds.
    static var nowMs: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Nanoseconds since boot.
    static var bootNs: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
