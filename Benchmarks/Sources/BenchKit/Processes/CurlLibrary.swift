internal import Foundation

/// Which libcurl floor and worker use: the system's, or another's that comes first on their library path. Nobody else
/// gets that path: the sink must not change with what is measured.
enum CurlLibrary {
    static let option = "--libcurl"
    private static let variable = "LD_LIBRARY_PATH"

    /// What floor and worker are started with.
    static var environment: [String: String] {
        ProcessInfo.processInfo.environment[variable].map { [variable: $0] } ?? [:]
    }

    /// The folder that a command line names, and the words without it; nil when it names none.
    static func named(in arguments: [String]) throws -> (folder: String, rest: [String])? {
        guard let at = arguments.firstIndex(of: option) else { return nil }
        guard at + 1 < arguments.count else { throw BenchError.usage("\(option) needs a folder") }
        return (arguments[at + 1], Array(arguments[..<at] + arguments[(at + 2)...]))
    }

    /// Begins this program again with the folder's libraries, so that it says itself which libcurl it has; returns when
    /// there is no need to begin again.
    static func restart(_ arguments: [String]) throws {
        guard let (folder, rest) = try named(in: arguments) else { return }
        let path = Workspace.absolute(folder)
        guard FileManager.default.fileExists(atPath: "\(path)/libcurl.so.4") else {
            throw BenchError.usage("\(option) \(folder): no libcurl.so.4 there; Benchmarks/libcurl8 prints a folder")
        }
        setenv(variable, path, 1)
        var words: [UnsafeMutablePointer<CChar>?] = (["fanfare-bench"] + rest).map { strdup($0) } + [nil]
        execv("/proc/self/exe", &words)
        throw BenchError.failed("cannot start again: \(String(cString: strerror(errno)))")
    }

    /// A worker with another libcurl than the floor's would be compared with the wrong floor.
    static func check(_ process: pid_t, named name: String) throws {
        guard let own = file(in: getpid()), let other = file(in: process), own != other else { return }
        throw BenchError.failed("the \(name) uses \(other), and the floor \(own)")
    }

    /// nil where none is mapped: it may be part of the program.
    private static func file(in process: pid_t) -> String? {
        file(
            in: String(decoding: FileManager.default.contents(atPath: "/proc/\(process)/maps") ?? Data(), as: UTF8.self)
        )
    }

    static func file(in maps: String) -> String? {
        maps.split(separator: "\n").lazy
            .compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
            .first { $0.split(separator: "/").last?.hasPrefix("libcurl") == true }
    }
}
