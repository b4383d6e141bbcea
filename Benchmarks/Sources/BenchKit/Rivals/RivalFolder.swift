internal import Foundation

/// Where the rivals' sources are, and what was installed for them: both in the harness's own package.
enum RivalFolder {
    /// nil when the program was taken out of its package.
    static func sources(_ name: String) -> String? { existing("Rivals/\(name)") }

    /// The Python that `Benchmarks/setup` installs.
    static var python: String? { existing(".build-python/bin/python") }

    /// A folder that lasts from run to run, such as a compiler's cache.
    static func scratch(_ name: String) -> String? { package.map { "\($0)/.build-\(name)" } }

    private static func existing(_ path: String) -> String? {
        package.map { "\($0)/\(path)" }.flatMap { FileManager.default.fileExists(atPath: $0) ? $0 : nil }
    }

    /// The nearest folder above this program that has rivals.
    private static let package: String? = {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        var folder = URL(fileURLWithPath: own).deletingLastPathComponent()
        while folder.path != "/" {
            if FileManager.default.fileExists(atPath: folder.appendingPathComponent("Rivals/go/main.go").path) {
                return folder.path
            }
            folder.deleteLastPathComponent()
        }
        return nil
    }()
}
