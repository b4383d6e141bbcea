import FoundationEssentials
import Glibc

/// The folder with the files that a sandbox's clients need. Only its owner can read a file, from its first byte on.
struct StateDirectory: Sendable {
    let path: String

    init(path: String) throws {
        self.path = path
        // Folders above it that are missing are made, too.
        var folders = [path[...]]
        while let slash = folders.last?.lastIndex(of: "/"), slash > path.startIndex {
            folders.append(path[..<slash])
        }
        for folder in folders.reversed() { _ = mkdir(String(folder), 0o700) }
        var state = stat()
        guard stat(path, &state) == 0 else {
            throw SandboxError("cannot make the folder \(path): \(String(cString: strerror(errno)))")
        }
        guard state.st_mode & S_IFMT == S_IFDIR else { throw SandboxError("\(path) is there and is no folder") }
    }

    func file(_ name: String) -> String {
        path + "/" + name
    }

    /// nil if there is no such file, it is not text, or it is larger than any file of a sandbox.
    func read(_ name: String) -> String? {
        guard let data = FileManager.default.contents(atPath: file(name)), data.count <= 65_536 else { return nil }
        return String(bytes: data, encoding: .utf8)
    }

    /// Writes a draft and renames it, so that no reader sees half a file.
    func write(_ name: String, _ text: String) throws {
        let target = file(name)
        let draft = target + ".new"
        try? FileManager.default.removeItem(atPath: draft)
        let made = FileManager.default.createFile(
            atPath: draft,
            contents: Data(text.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard made, rename(draft, target) == 0 else { throw SandboxError("cannot write \(target)") }
    }
}
