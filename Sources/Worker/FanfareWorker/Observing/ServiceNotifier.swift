internal import Glibc

/// Tells the service manager how the process fares, in systemd's protocol: datagrams to the socket that `NOTIFY_SOCKET`
/// names. A manager that does not listen is nobody's trouble.
public final class ServiceNotifier: Sendable {
    private let descriptor: Int32
    private let address: [UInt8]
    /// How often the manager has to hear that the process is alive; nil when it does not ask.
    public let watchdogNs: UInt64?

    /// nil when nobody listens: the process was not started by a manager that wants to know.
    public init?(environment: [String: String]) {
        guard let path = environment["NOTIFY_SOCKET"], let bytes = Self.socketName(path) else { return nil }
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        address = bytes
        // Meant for another process of the service, it is not for this one to answer.
        let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { UInt64($0) } ?? 0
        watchdogNs = isOurs && microseconds > 0 ? min(microseconds, 86_400_000_000) * 1_000 : nil
    }

    deinit { close(descriptor) }

    /// - Parameter status: a sentence for people; what could end its line is replaced.
    public func ready(status: String) { send("READY=1\n" + Self.line(status)) }
    public func status(_ status: String) { send(Self.line(status)) }
    public func alive() { send("WATCHDOG=1") }
    public func stopping(status: String) { send("STOPPING=1\n" + Self.line(status)) }

    /// The start, or the stop, may take so much longer from now on.
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

    /// `/path`, or `@name` for one without a file; nil for what is neither or too long.
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
        // A name without a file ends where its bytes end, not at a zero.
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count + (address[0] == 0 ? 0 : 1))
        let bytes = Array(text.utf8)
        _ = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
