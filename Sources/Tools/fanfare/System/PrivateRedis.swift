internal import FoundationEssentials
internal import Glibc

/// A redis-server of this process's own, reached through a unix socket that only this user can open.
enum PrivateRedis {
    static var missing: any Error {
        Outcome.unavailable.because("redis-server is not installed: apt-get install redis-server")
    }

    static var isInstalled: Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/redis-server", X_OK) == 0 }
    }

    /// The address of its socket as `redis.url`: every byte that means something in a URL or in YAML is percent-encoded.
    static func url(socket: String) -> String {
        socket.utf8.reduce(into: "unix://") { url, byte in
            let letter = Character(UnicodeScalar(byte))
            let isPlain = byte < 0x80 && (letter.isLetter || letter.isNumber || "/-._~".contains(letter))
            let hex = String(byte, radix: 16, uppercase: true)
            url += isPlain ? String(letter) : "%" + (hex.count == 1 ? "0" : "") + hex
        }
    }

    /// The program and its arguments.
    ///
    /// - Parameters:
    ///   - folder: for its data and its log.
    ///   - port: a port of 127.0.0.1 to listen on, too.
    ///   - keepsData: whether what it holds survives its end.
    static func words(folder: String, socket: String, port: Int?, keepsData: Bool) -> [String] {
        [
            "redis-server", "--port", "\(port ?? 0)", "--bind", "127.0.0.1", "--unixsocket", socket,
            "--unixsocketperm", "700", "--save", "", "--appendonly", keepsData ? "yes" : "no", "--appendfsync",
            "everysec",
            "--maxmemory-policy", "noeviction", "--dir", folder, "--logfile", folder + "/redis.log",
        ]
    }
}
