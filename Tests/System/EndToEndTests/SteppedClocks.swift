import Foundation
import TestSupport

/// Wall clocks that a test can set per process, by a preloaded library that shifts the time of day. The monotonic clock
/// is unchanged.
final class SteppedClocks {
    private let folder: TemporaryFolder
    private let library: PreloadedLibrary

    /// Source of the library. It reads a step from the file `$CLOCK_STEPS/<pid>`, checked every 5 ms, and removes the
    /// file.
    private static let source = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <fcntl.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>

        static char path[256];
        static long seconds, checked;

        __attribute__((constructor)) static void begin(void) {
            const char *folder = getenv("CLOCK_STEPS"), *ahead = getenv("CLOCK_AHEAD");
            if (ahead) seconds = atol(ahead);
            if (folder) snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
        }

        static long ahead(void) {
            struct timespec now;
            syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
            long tick = now.tv_sec * 200 + now.tv_nsec / 5000000;
            if (path[0] && __atomic_exchange_n(&checked, tick, __ATOMIC_RELAXED) != tick) {
                int error = errno, file = open(path, O_RDONLY | O_CLOEXEC);
                char text[32] = {0};
                if (file >= 0) {
                    if (read(file, text, 31) > 0) __atomic_store_n(&seconds, atol(text), __ATOMIC_RELAXED);
                    close(file);
                    unlink(path);
                }
                errno = error;
            }
            return __atomic_load_n(&seconds, __ATOMIC_RELAXED);
        }

        int clock_gettime(clockid_t clock, struct timespec *to) {
            int result = (int)syscall(SYS_clock_gettime, clock, to);
            // Checked for every clock, because a process may rarely read the time of day.
            long by = ahead();
            if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) to->tv_sec += by;
            return result;
        }

        int gettimeofday(struct timeval *restrict to, void *restrict zone) {
            int result = (int)syscall(SYS_gettimeofday, to, zone);
            if (result == 0) to->tv_sec += ahead();
            return result;
        }

        time_t time(time_t *to) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (to) *to = now.tv_sec;
            return now.tv_sec;
        }
        """

    init() throws {
        folder = try TemporaryFolder()
        library = try PreloadedLibrary(source: Self.source)
    }

    /// The environment of a process whose clock can be set; it starts `ahead` seconds ahead of the machine's clock.
    func environment(ahead: Int = 0) -> [String: String] {
        ["LD_PRELOAD": library.path, "CLOCK_STEPS": folder.path, "CLOCK_AHEAD": String(ahead)]
    }

    /// Sets a running process's clock `ahead` seconds ahead of the machine's and waits until the process applied it.
    func set(_ pid: Int32, ahead: Int) async throws {
        let file = try folder.write(String(pid), String(ahead))
        try await Wait.until("process \(pid) to apply its clock step", everyMs: 1) {
            !FileManager.default.fileExists(atPath: file)
        }
    }
}
