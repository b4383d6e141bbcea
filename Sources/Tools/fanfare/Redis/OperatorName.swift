internal import FoundationEssentials
internal import Glibc

/// Who runs this command, as the audit list shows it: `user@host`.
enum OperatorName {
    static let current = text(
        environment: ProcessInfo.processInfo.environment,
        uid: getuid(),
        host: ProcessInfo.processInfo.hostName
    )

    /// - Parameter environment: `SUDO_USER` stands before `USER`, and both before the number of the user.
    static func text(environment: [String: String], uid: UInt32, host: String) -> String {
        let names = [environment["SUDO_USER"], environment["USER"]].compactMap { $0 }
        let user = names.first { !$0.isEmpty } ?? "uid \(uid)"
        return host.isEmpty ? user : "\(user)@\(host)"
    }
}
