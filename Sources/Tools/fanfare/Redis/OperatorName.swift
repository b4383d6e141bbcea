internal import FoundationEssentials
internal import Glibc

/// Who runs this command, as the audit list shows it: `user@host`.
enum OperatorName {
    static let current = text(environment: ProcessInfo.processInfo.environment, uid: getuid(), host: host())

    /// - Parameter environment: `SUDO_USER` stands before `USER`, and both before the number of the user.
    static func text(environment: [String: String], uid: UInt32, host: String) -> String {
        let names = [environment["SUDO_USER"], environment["USER"]].compactMap { $0 }
        let user = names.first { !$0.isEmpty } ?? "uid \(uid)"
        return host.isEmpty ? user : "\(user)@\(host)"
    }

    private static func host() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
