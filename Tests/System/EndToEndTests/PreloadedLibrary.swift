import TestSupport

/// A library that a process loads before all others (`LD_PRELOAD`), so that its functions replace theirs.
final class PreloadedLibrary {
    private let folder: TemporaryFolder
    let path: String

    /// - Parameter source: in C.
    init(source: String) throws {
        folder = try TemporaryFolder()
        path = folder.file("preloaded.so")
        let arguments = ["-shared", "-fPIC", "-O2", "-x", "c", "-", "-o", path]
        do {
            try runProgram("/usr/bin/env", ["clang"] + arguments, input: Array(source.utf8))
        } catch {
            try runProgram("/usr/bin/env", ["cc"] + arguments, input: Array(source.utf8))
        }
    }
}
