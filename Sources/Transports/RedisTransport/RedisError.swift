internal import FanfareModel
internal import SocketTransport

/// Why a command has no answer.
public struct RedisError: Error, Equatable, Sendable, CustomStringConvertible {
    /// An open set: an error of the server without a name here has the server's first word as its code.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }

        // Ours, in lower case: a server's code never is.
        /// The connection is not ready: nothing was sent.
        public static let notConnected = Code(rawValue: "not_connected")
        /// No answer in time. The connection is closed, since its later replies could not be told apart.
        public static let timeout = Code(rawValue: "timeout")
        /// The connection ended first. ``RedisError/maybeApplied`` says whether the server may have run the command.
        public static let connectionLost = Code(rawValue: "connection_lost")
        /// The reply is not RESP2, is larger or deeper than allowed, or belongs to no command.
        public static let protocolError = Code(rawValue: "protocol_error")
        /// TLS failed: a wrong authority, a wrong host, a refused client certificate.
        public static let tls = Code(rawValue: "tls")
        /// The host name has no address.
        public static let nameResolution = Code(rawValue: "name_resolution")
        /// The command is larger than Redis accepts: nothing was sent.
        public static let commandTooLarge = Code(rawValue: "command_too_large")
        /// An `ERR` whose text says that a function or its library is not loaded.
        public static let functionNotFound = Code(rawValue: "function_not_found")

        /// An `ERR` that says the server takes no more connections.
        public static let tooManyClients = Code(rawValue: "too_many_clients")

        // The server's.
        /// Any other plain `ERR`.
        public static let server = Code(rawValue: "ERR")
        public static let loading = Code(rawValue: "LOADING")
        public static let readOnly = Code(rawValue: "READONLY")
        public static let outOfMemory = Code(rawValue: "OOM")
        public static let busy = Code(rawValue: "BUSY")
        public static let misconf = Code(rawValue: "MISCONF")
        public static let masterDown = Code(rawValue: "MASTERDOWN")
        public static let noReplicas = Code(rawValue: "NOREPLICAS")
        public static let tryAgain = Code(rawValue: "TRYAGAIN")
        public static let clusterDown = Code(rawValue: "CLUSTERDOWN")
        public static let moved = Code(rawValue: "MOVED")
        public static let ask = Code(rawValue: "ASK")
        public static let noAuth = Code(rawValue: "NOAUTH")
        public static let wrongPass = Code(rawValue: "WRONGPASS")
        public static let noPerm = Code(rawValue: "NOPERM")
        public static let noGroup = Code(rawValue: "NOGROUP")
        public static let busyGroup = Code(rawValue: "BUSYGROUP")
        public static let unblocked = Code(rawValue: "UNBLOCKED")
    }

    public let code: Code
    /// The server's line, or our own words. Control characters are replaced, the length is capped.
    public let message: String
    /// True when the command may have been run although its answer is lost.
    public let maybeApplied: Bool

    public init(_ code: Code, _ message: String, maybeApplied: Bool = false) {
        self.code = code
        self.message = Self.printable(message)
        self.maybeApplied = maybeApplied
    }

    /// From an error reply's line without its leading `-`.
    public init(reply line: String) {
        let word = line.prefix { $0 != " " }
        let isCode = !word.isEmpty && word.utf8.count <= 32 && word.utf8.allSatisfy { 65...90 ~= $0 || $0 == 95 }
        var code = isCode ? Code(rawValue: String(word)) : .server
        // Redis has no word of its own for it. The texts are from 7.0 ("Function not found") and from 7.2 and later.
        if code == .server, line.contains("unction not found") || line.contains("Library not found") {
            code = .functionNotFound
        } else if code == .server, line.contains("max number of clients") {
            code = .tooManyClients
        }
        self.init(code, line)
    }

    init(_ error: SocketError) {
        let code: Code =
            switch error.reason.kind {
            case .name: .nameResolution
            case .tls, .certificate, .authority: .tls
            default: .connectionLost
            }
        self.init(code, "\(error)")
    }

    /// Calls `body`, and throws the error of its socket as one of Redis.
    static func from<Value>(_ body: () throws(SocketError) -> Value) throws(RedisError) -> Value {
        do throws(SocketError) { return try body() } catch { throw RedisError(error) }
    }

    /// The server cannot serve now and will later: retry, count no attempt, do not report ready.
    public var isTransient: Bool {
        switch code {
        case .loading, .busy, .misconf, .masterDown, .readOnly, .noReplicas, .tryAgain, .clusterDown, .outOfMemory,
            .moved, .ask:
            return true
        case .timeout, .connectionLost, .notConnected, .nameResolution, .unblocked, .tooManyClients:
            return true
        default: return false
        }
    }

    /// The server changed its role, so a connection opened now may reach a better one.
    var endsConnection: Bool { code == .readOnly || code == .masterDown || code == .unblocked }

    public var description: String { message.hasPrefix(code.rawValue) ? message : "\(code): \(message)" }

    private static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(512) {
            let isControl = scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value || 0x2028...0x2029 ~= scalar.value
            result.unicodeScalars.append(isControl ? "?" : scalar)
        }
        return result
    }
}
