internal import ArgumentParser
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareJSON
internal import Glibc

/// Writes and deletes files of keys. Messages name the setting, never its path.
enum KeyFile {
    /// Makes the folder of keys for this user only.
    /// - Returns: whether the folder existed.
    static func makeFolder(_ folder: ConfiguredFile) throws -> Bool {
        if mkdir(folder.path, 0o700) == 0 { return false }
        guard errno == EEXIST else { throw failed("\(folder): cannot be made") }
        return true
    }

    /// Writes `NAME.yaml`. A gateway that reads the folder meanwhile sees the whole file or none.
    /// - Returns: the file's name.
    static func write(_ key: GatewayKey, into folder: ConfiguredFile) throws -> String {
        let name = key.name + GatewayKeys.suffix
        // Hidden files are ignored.
        let draft = "\(folder.path)/.\(name).\(getpid())"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failed("\(folder): \(name) cannot be written") }
        defer { unlink(draft) }
        var rest = Array(text(of: key).utf8)[...]
        var isWritten = true
        while !rest.isEmpty, isWritten {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            isWritten = count > 0
            rest = rest.dropFirst(max(0, count))
        }
        isWritten = isWritten && fsync(descriptor) == 0
        guard isWritten else {
            let reason = failed("\(folder): \(name) cannot be written")
            close(descriptor)
            throw reason
        }
        close(descriptor)
        // Unlike rename(2), this never replaces a file.
        guard link(draft, "\(folder.path)/\(name)") == 0 else {
            throw failed("\(folder): \(name) cannot be made")
        }
        return name
    }

    static func remove(_ file: String, from folder: ConfiguredFile) throws {
        guard unlink("\(folder.path)/\(file)") == 0 else { throw failed("\(folder): \(file) cannot be removed") }
    }

    private static func text(of key: GatewayKey) -> String {
        var lines = [
            // In quotes: a name may look like a number, or like nothing.
            "name: \"\(key.name)\"", "sha256: \(key.digest.hexadecimal)",
            "projects: [\(key.projects.map { "\"\($0)\"" }.joined(separator: ", "))]",
            "rights: [\(key.sortedRights.joined(separator: ", "))]",
        ]
        if let rate = key.rate { lines.append("rate: \(rate)") }
        return (lines + ["priority_max: \(key.maximumPriority)"]).joined(separator: "\n") + "\n"
    }

    /// The outcome of a call of the system that failed.
    private static func failed(_ sentence: String) -> ExitCode {
        Outcome.failed.because("\(sentence) (\(String(cString: strerror(errno))))")
    }
}

extension GatewayKey {
    /// The words of the rights, in the order of their cases.
    var sortedRights: [String] { Right.allCases.filter(rights.contains).map(\.rawValue) }

    /// Everything but the digest.
    var json: JSONObject {
        var object: JSONObject = [
            "name": .string(name), "projects": .array(projects.map { .string($0) }),
            "rights": .array(sortedRights.map { .string($0) }),
        ]
        object["rate"] = rate.map { .number(JSONNumber(Int64($0))) }
        object["priority_max"] = .number(JSONNumber(Int64(maximumPriority)))
        return object
    }
}
