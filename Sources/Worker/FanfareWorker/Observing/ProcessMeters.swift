internal import FanfareConfiguration
public import FanfareMetrics
internal import Glibc

/// Metrics of this process from the operating system, read when metrics are collected.
public enum ProcessMeters {
    public static func register(in registry: MetricRegistry, version: String) {
        registry.gauge(MetricCatalogue.buildInfo, version).set(1)
        registry.gauge(MetricCatalogue.startTime).set(startSeconds())
        let cpu = registry.gauge(MetricCatalogue.cpu)
        let memory = registry.gauge(MetricCatalogue.memory)
        let files = registry.gauge(MetricCatalogue.openFiles)
        let fileLimit = registry.gauge(MetricCatalogue.maximumFiles)
        registry.onCollect {
            cpu.set(cpuSeconds())
            memory.set(residentBytes())
            files.set(openFiles())
            fileLimit.set(maximumFiles())
        }
    }

    static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    /// 0 if /proc cannot be read.
    static func residentBytes() -> Double {
        let pages = read("/proc/self/statm").split(separator: " ")
        guard pages.count > 1, let resident = Double(pages[1]) else { return 0 }
        return resident * Double(sysconf(Int32(_SC_PAGESIZE)))
    }

    static func openFiles() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without `.`, `..` and the descriptor of the folder itself.
        return max(0, count - 3)
    }

    /// The soft limit; infinity without one.
    static func maximumFiles() -> Double {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return limit.rlim_cur == rlim_t.max ? .infinity : Double(limit.rlim_cur)
    }

    /// Unix seconds: the boot time plus ticks since boot.
    static func startSeconds() -> Double {
        // The name in brackets may hold any character, so fields are counted from its end.
        let status = read("/proc/self/stat")
        guard let end = status.lastIndex(of: ")") else { return 0 }
        let fields = status[end...].split(separator: " ")
        let boot = read("/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }
        guard fields.count > 20, let ticks = Double(fields[20]), let since = boot.flatMap({ Double($0.dropFirst(6)) })
        else { return 0 }
        return since + ticks / Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    }

    private static func read(_ path: String) -> String {
        let content = try? FileReader.read(path, limit: 1 << 20)
        return String(decoding: content?.bytes ?? [], as: UTF8.self)
    }
}
