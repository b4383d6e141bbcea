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
        do throws(NewFile.Failure) { try NewFile.write(text(of: key), to: draft, mode: 0o600) } catch {
            throw Outcome.failed.because("\(folder): \(name) cannot be written (\(error.reason))")
        }
        defer { unlink(draft) }
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
        let proof =
            switch key.proof {
            case .digest(let digest): "sha256: \(digest.hexadecimal)"
            case .account(let key): "public_key: |\n  " + key.pem.split(separator: "\n").joined(separator: "\n  ")
            }
        var lines = [
            // In quotes: a name may look like a number, or like nothing.
            "name: \"\(key.name)\"", proof,
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

    /// Everything but its proof.
    var json: JSONObject {
        var object: JSONObject = [
            "name": .string(name), "projects": .array(projects.map { .string($0) }),
            "rights": .array(sortedRights.map { .string($0) }),
        ]
        object["client_email"] = publicKey.map { _ in .string(Self.email(ofAccount: name)) }
        object["rate"] = rate.map { .number(JSONNumber(Int64($0))) }
        object["priority_max"] = .number(JSONNumber(Int64(maximumPriority)))
        return object
    }
}
