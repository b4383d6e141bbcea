internal import Glibc

/// Reports the process' state to the service manager in systemd's protocol: datagrams to the socket that `NOTIFY_SOCKET`
/// names. A manager that does not listen is ignored.
public final class ServiceNotifier: Sendable {
    private let descriptor: Int32
    private let address: [UInt8]
    /// The longest time between two ``alive()`` reports; nil if the manager expects none.
    public let watchdogNs: UInt64?

    /// nil unless the process was started by a manager that expects reports.
    public init?(environment: [String: String]) {
        guard let path = environment["NOTIFY_SOCKET"], let bytes = Self.socketName(path) else { return nil }
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        address = bytes
        // The watchdog may be set for another process of the service.
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { UInt64($0) } ?? 0
        watchdogNs = isOurs && microseconds > 0 ? min(microseconds, 86_400_000_000) * 1_000 : nil
    }

    deinit { close(descriptor) }

    /// - Parameter status: one line of text; control characters become spaces.
    public func ready(status: String) { send("READY=1\n" + Self.line(status)) }
    public func status(_ status: String) { send(Self.line(status)) }
    public func alive() { send("WATCHDOG=1") }
    public func stopping(status: String) { send("STOPPING=1\n" + Self.line(status)) }

    /// Extends the timeout of the start or stop, from now on.
    public func extend(milliseconds: Int64, status: String) {
        send("EXTEND_TIMEOUT_USEC=\(milliseconds * 1_000)\n" + Self.line(status))
    }

    private static func line(_ status: String) -> String {
        var text = ""
        for scalar in status.unicodeScalars.prefix(512) {
            text.unicodeScalars.append(scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar)
        }
        return "STATUS=" + text
    }

    /// `/path`, or `@name` for a socket without a file; nil for other texts and for one that is too long.
    private static func socketName(_ path: String) -> [UInt8]? {
        var bytes = Array(path.utf8)
        guard bytes.count > 1, bytes.count < 108, bytes[0] == UInt8(ascii: "/") || bytes[0] == UInt8(ascii: "@") else {
            return nil
        }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        return bytes
    }

    private func send(_ text: String) {
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: address) }
        // The name of a socket without a file ends with its bytes, not at a zero.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count + (address[0] == 0 ? 0 : 1))
        let bytes = Array(text.utf8)
        _ = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
