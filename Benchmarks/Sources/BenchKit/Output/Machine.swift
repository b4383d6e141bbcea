internal import Foundation

/// What the figures were measured on. Without it they mean nothing.
struct Machine: Codable {
    let cores: Int
    let model: String
    let memoryMegabytes: Int
    let kernel: String
    let system: String
    let curl: String
    let tools: [String: String]
    /// Of the minute before the first run.
    let loadBefore: Double

    init(tools: [Tool]) {
        let information = ProcessInfo.processInfo
        cores = information.activeProcessorCount
        memoryMegabytes = Int(information.physicalMemory >> 20)
        model = Self.field("model name", in: "/proc/cpuinfo", separator: ":") ?? "unknown"
        system = Self.field("PRETTY_NAME", in: "/etc/os-release", separator: "=") ?? "unknown"
        kernel = Self.text("/proc/sys/kernel/osrelease")
        curl = FloorLoop.curlVersion
        loadBefore = Self.text("/proc/loadavg").split(separator: " ").first.flatMap { Double($0) } ?? 0
        self.tools = Dictionary(tools.map { ($0.name, $0.version ?? "missing") }) { first, _ in first }
    }

    /// `libcurl/8.5.0`
    var curlName: String { curl.split(separator: " ").first.map(String.init) ?? curl }

    /// Others at work spoil wall times first, and CPU times through shared caches.
    var isBusy: Bool { loadBefore > 0.3 * Double(cores) }

    private static func text(_ path: String) -> String {
        let data = FileManager.default.contents(atPath: path) ?? Data()
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func field(_ name: String, in path: String, separator: Character) -> String? {
        for line in text(path).split(separator: "\n") where line.hasPrefix(name) {
            guard let at = line.firstIndex(of: separator) else { continue }
            return line[line.index(after: at)...].trimmingCharacters(in: CharacterSet(charactersIn: " \""))
        }
        return nil
    }
}
