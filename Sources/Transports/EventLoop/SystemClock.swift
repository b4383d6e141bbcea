internal import Glibc

/// The clocks of decisions. Leases, waits and lifetimes use the time since boot, which cannot be set and counts
/// while the machine sleeps; the time of day is only the start of the project's time.
public enum SystemClock {
    /// Unix milliseconds.
    public static var nowMs: Int64 { Int64(nanoseconds(of: CLOCK_REALTIME) / 1_000_000) }

    public static var bootMs: Int64 { Int64(bootNs / 1_000_000) }

    public static var bootNs: UInt64 { nanoseconds(of: CLOCK_BOOTTIME) }

    private static func nanoseconds(of clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
