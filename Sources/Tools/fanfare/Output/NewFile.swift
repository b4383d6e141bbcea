internal import ArgumentParser
internal import Glibc

/// Writes files that do not exist yet. No file is ever replaced.
enum NewFile {
    /// Why a file was not written, in the system's words.
    struct Failure: Error {
        let isExisting: Bool
        let reason: String

        fileprivate init() {
            isExisting = errno == EEXIST
            reason = String(cString: strerror(errno))
        }
    }

    /// Writes a whole file, or none.
    ///
    /// - Parameter mode: 0600 for a secret.
    static func write(_ text: String, to path: String, mode: mode_t) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure() }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw removed(path) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw removed(path) }
    }

    private static func removed(_ path: String) -> Failure {
        let failure = Failure()
        unlink(path)
        return failure
    }
}

extension NewFile.Failure {
    /// The outcome of a command that cannot write its file.
    ///
    /// - Parameter remedy: for a file that is there already.
    func outcome(_ name: String, existing remedy: String) -> ExitCode {
        Outcome.failed.because(
            isExisting ? "\(name): is there already and is not overwritten; \(remedy)" : "\(name): \(reason)"
        )
    }
}
