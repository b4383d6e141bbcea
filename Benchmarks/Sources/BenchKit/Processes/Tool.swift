internal import Foundation

/// A program of the system that a benchmark needs.
struct Tool: Sendable {
    let name: String
    /// The Debian package that has it.
    let package: String
    /// Where it is, when it is no program to look for.
    var file: String?

    static let nginx = Tool(name: "nginx", package: "nginx-light")
    static let redisServer = Tool(name: "redis-server", package: "redis-server")
    static let openssl = Tool(name: "openssl", package: "openssl")
    static let h2load = Tool(name: "h2load", package: "nghttp2-client")
    static let wrk = Tool(name: "wrk", package: "wrk")

    /// What draws a chart as PNG.
    static let rsvgConvert = Tool(name: "rsvg-convert", package: "librsvg2-bin")
    /// A module of nginx, which is no program.
    static let echoModule = Tool(
        name: "nginx's echo module",
        package: "libnginx-mod-http-echo",
        file: "/usr/lib/nginx/modules/ngx_http_echo_module.so"
    )

    /// Daemons are outside an ordinary user's path.
    private static let furtherFolders = ["/usr/local/sbin", "/usr/sbin", "/sbin"]

    var path: String? {
        if let file { return FileManager.default.fileExists(atPath: file) ? file : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin")
            .split(separator: ":").map(String.init)
        return (folders + Self.furtherFolders).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    func found() throws -> String {
        guard let path else {
            throw BenchError.unavailable("\(name) is missing: apt-get install \(package)")
        }
        return path
    }
}

extension Tool {
    /// Names everything that is missing at once, before anything is started.
    static func demand(_ tools: [Tool]) throws {
        let missing = tools.filter { $0.path == nil }
        guard !missing.isEmpty else { return }
        let names = Set(missing.map(\.name)).sorted().joined(separator: ", ")
        let packages = Set(missing.map(\.package)).sorted().joined(separator: " ")
        throw BenchError.unavailable("missing: \(names); apt-get install \(packages), or Benchmarks/setup")
    }

    /// What it says of itself, for the report.
    var version: String? {
        guard let path else { return nil }
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = [name == "nginx" ? "-v" : name == "openssl" ? "version" : "--version"]
        process.standardOutput = pipe
        process.standardError = pipe
        guard (try? process.run()) != nil else { return nil }
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: said, as: UTF8.self).split(separator: "\n").first.map(String.init)
    }
}
