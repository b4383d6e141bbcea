internal import Foundation

enum Executable {
    /// The release build of the product: where `--fanfare` says, or of the package that holds this one.
    static func fanfare(_ options: Options) throws -> String {
        if let path = options.fanfare {
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw BenchError.usage("--worker \(path): no program there")
            }
            return path
        }
        let candidates = packageFolders().map { "\($0)/.build/release/fanfare" }
        guard let path = candidates.first(where: FileManager.default.isExecutableFile) else {
            throw BenchError.unavailable(
                "the worker's program is missing: swift build -c release --product fanfare, or --worker PATH"
            )
        }
        return path
    }

    /// Folders above this program that hold a package, the nearest first: the harness's own, then the product's.
    private static func packageFolders() -> [String] {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return [] }
        var folder = URL(fileURLWithPath: own).deletingLastPathComponent()
        var found: [String] = []
        while folder.path != "/" {
            if FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) {
                found.append(folder.path)
            }
            folder.deleteLastPathComponent()
        }
        return found
    }
}
