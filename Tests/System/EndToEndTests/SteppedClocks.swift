import Foundation
import TestSupport

/// Wall clocks that can be set, each process's its own: a library, loaded before all others, that moves what they are
/// told. The monotonic clock stays what it is.
final class SteppedClocks {
    private let folder: TemporaryFolder
    private let library: String

    /// Takes a step from the file `$CLOCK_STEPS/<pid>`, looked for every 5 ms, and removes it.
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
        static long seconds, looked;

        __attribute__((constructor)) static void begin(void) {
            const char *folder = getenv("CLOCK_STEPS"), *ahead = getenv("CLOCK_AHEAD");
            if (ahead) seconds = atol(ahead);
            if (folder) snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
        }

        static long ahead(void) {
            struct timespec now;
            syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
            long tick = now.tv_sec * 200 + now.tv_nsec / 5000000;
            if (path[0] && __atomic_exchange_n(&looked, tick, __ATOMIC_RELAXED) != tick) {
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
            // Looked for whichever clock is asked: a process may hardly ever ask for the time of day.
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
        library = folder.file("clock.so")
        let arguments = ["-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", library]
        do {
            try runProgram("/usr/bin/env", ["clang"] + arguments, input: Array(Self.source.utf8))
        } catch {
            try runProgram("/usr/bin/env", ["cc"] + arguments, input: Array(Self.source.utf8))
        }
    }

    /// For a process whose clock is to be set, at its start by `ahead` seconds.
    func environment(ahead: Int = 0) -> [String: String] {
        ["LD_PRELOAD": library, "CLOCK_STEPS": folder.path, "CLOCK_AHEAD": String(ahead)]
    }

    /// Sets a running process's clock so many seconds ahead of the machine's; returns when it has taken the step.
    func set(_ pid: Int32, ahead: Int) async throws {
        let file = try folder.write(String(pid), String(ahead))
        try await Wait.until("\(pid) to take its step", everyMs: 1) { !FileManager.default.fileExists(atPath: file) }
    }
}
